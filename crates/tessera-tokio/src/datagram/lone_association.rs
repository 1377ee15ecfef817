//! A client's association, the only one of its socket.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::handshake::{Checked, ClientHandshake, ClientQuestion};
use tessera::{
    Association, ClientAssociation, ClientConfig, Error, PathCookie, PathMessage, Progress,
    ReadEvent, Time,
};

use super::associations::{Associations, DatagramHandshake, Owner};
use crate::async_handshake::{AnswerCallback, Face};

/// A client's association.
pub struct LoneAssociation {
    association: ClientAssociation,
    server: SocketAddr,
    has_failed: bool,
    /// Answers to path challenges.
    answers: Vec<Vec<u8>>,
    /// Further connection IDs were requested for the next move.
    has_requested_ids: bool,
    received: u64,
    sent: u64,
}

impl DatagramHandshake for ClientHandshake {
    type Associations = LoneAssociation;
}

impl LoneAssociation {
    pub(super) fn new(association: ClientAssociation, server: SocketAddr) -> Self {
        let (answers, has_requested_ids) = (Vec::new(), false);
        Self {
            association,
            server,
            has_failed: false,
            answers,
            has_requested_ids,
            received: 0,
            sent: 0,
        }
    }

    /// Continues from another address: under another connection ID, so that who sees both can't link them by it
    /// (RFC 9147 §11).
    pub(super) fn changes_address(&mut self) {
        if self.association.use_next_connection_id() {
            self.has_requested_ids = false;
        }
    }

    /// Answers a challenge of the server. The client has one address: it uses the path that the challenge came on.
    fn answer_challenge(&mut self, cookie: PathCookie) {
        let mut answer = Vec::new();
        let response = PathMessage::Response(cookie);
        if self.answers.len() < MAX_ANSWERS
            && self.association.write_path_message(response, &mut answer).is_ok()
        {
            self.answers.push(answer);
        }
    }

    /// Asks for connection IDs for the moves to come, once each time that one was used.
    fn request_ids(&mut self) {
        if !self.has_requested_ids {
            let missing = SPARE_IDS.saturating_sub(self.association.spare_connection_ids());
            self.has_requested_ids =
                missing == 0 || self.association.request_connection_ids(missing as u8).is_ok();
        }
    }
}

impl Associations<ClientHandshake> for LoneAssociation {
    type Id = ();

    fn set_config(&mut self, _: Checked<ClientConfig>) {}

    fn route(&mut self, _: Time, from: SocketAddr, _: &[u8]) -> Option<Owner<()>> {
        let is_known = from == self.server && !self.has_failed;
        is_known.then_some(Owner::Association((), None))
    }

    fn read(
        &mut self,
        (): (),
        now: Time,
        _: Option<SocketAddr>,
        datagram: &mut [u8],
    ) -> Result<Progress<ClientQuestion>, Error> {
        let read = self.association.read(now, datagram);
        self.has_failed |= read.is_err();
        if let Ok(progress) = &read {
            self.received += progress.consumed as u64;
            match progress.event {
                ReadEvent::Path(PathMessage::Challenge(cookie)) => self.answer_challenge(cookie),
                ReadEvent::NeedInput if self.association.can_check_paths() => self.request_ids(),
                _ => (),
            }
        }
        read
    }

    fn answer(
        &mut self,
        (): (),
        answer: AnswerCallback<ClientHandshake>,
        now: Time,
    ) -> Result<(), Error> {
        let answered = answer(Face::Datagrams(&mut self.association), now);
        self.has_failed |= answered.as_ref().is_err_and(Error::is_final);
        answered
    }

    fn write(&mut self, (): (), data: &[u8], out: &mut Vec<u8>) -> Result<SocketAddr, Error> {
        let start = out.len();
        self.association.write(data, out)?;
        self.sent += (out.len() - start) as u64;
        Ok(self.server)
    }

    fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let start = out.len();
        let answer = self.answers.pop();
        let is_sent = match &answer {
            Some(answer) => {
                out.extend_from_slice(answer);
                true
            }
            None => self.association.transmit(now, out),
        };
        self.sent += (out.len() - start) as u64;
        is_sent.then_some(self.server)
    }

    fn deadline(&self) -> Option<Duration> {
        self.association.deadline().filter(|_| !self.has_failed)
    }

    fn handle_timeouts(&mut self, now: Time) -> Vec<((), Error)> {
        if self.deadline().is_none_or(|deadline| deadline > now.monotonic) {
            return Vec::new();
        }
        let result = self.association.handle_timeout(now);
        self.has_failed |= result.is_err();
        result.err().map(|error| ((), error)).into_iter().collect()
    }

    fn with<R>(
        &mut self,
        (): (),
        change: impl FnOnce(&mut Association<ClientHandshake>) -> R,
    ) -> Option<R> {
        Some(change(&mut self.association))
    }

    fn address(&self, (): ()) -> Option<SocketAddr> {
        Some(self.server)
    }

    fn bytes(&self, (): ()) -> Option<[u64; 2]> {
        Some([self.received, self.sent])
    }

    fn remove(&mut self, (): ()) {
        self.has_failed = true;
    }
}

/// How many connection IDs are kept for moves.
const SPARE_IDS: usize = 2;

/// The most answers that wait to be sent.
const MAX_ANSWERS: usize = 16;
