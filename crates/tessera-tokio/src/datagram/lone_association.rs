//! A client's association, the only one of its sockets.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::handshake::{Checked, ClientHandshake, ClientQuestion};
use tessera::{Association, ClientConfig, Error, Progress, ReadEvent, Time};
use tessera_endpoint::{ClientEndpoint, Path};

use super::associations::{Associations, DatagramHandshake, Owner};
use super::peer::Known;
use crate::async_handshake::{AnswerCallback, Face};

/// A client's association.
pub struct LoneAssociation {
    endpoint: ClientEndpoint,
    /// Its sockets.
    locals: Vec<SocketAddr>,
    /// Further connection IDs were requested for the next move.
    has_requested_ids: bool,
    received: u64,
    sent: u64,
}

impl DatagramHandshake for ClientHandshake {
    type Associations = LoneAssociation;
}

impl LoneAssociation {
    pub(super) fn new(endpoint: ClientEndpoint) -> Self {
        let locals = endpoint.path().local.into_iter().collect();
        Self { endpoint, locals, has_requested_ids: false, received: 0, sent: 0 }
    }

    /// Returns whether it follows its server to other addresses.
    pub(super) fn follows(&self) -> bool {
        self.endpoint.follows()
    }

    /// Adds a socket, with which the endpoint continues at once or later, as `change` asks.
    pub(super) fn change_socket(
        &mut self,
        local: SocketAddr,
        change: impl FnOnce(&mut ClientEndpoint),
    ) {
        if !self.locals.contains(&local) {
            self.locals.push(local);
        }
        let spare = self.spare_ids();
        change(&mut self.endpoint);
        self.note_used_ids(spare);
    }

    /// Asks for connection IDs for the moves to come, once each time that one was used.
    fn request_ids(&mut self) {
        if !self.has_requested_ids {
            let missing = SPARE_IDS.saturating_sub(self.spare_ids());
            let association = self.endpoint.association_mut();
            self.has_requested_ids =
                missing == 0 || association.request_connection_ids(missing as u8).is_ok();
        }
    }

    fn spare_ids(&self) -> usize {
        self.endpoint.association().spare_connection_ids()
    }

    fn note_used_ids(&mut self, before: usize) {
        self.has_requested_ids &= self.spare_ids() >= before;
    }
}

impl Associations<ClientHandshake> for LoneAssociation {
    type Id = ();

    fn set_config(&mut self, _: Checked<ClientConfig>) {}

    fn route(&mut self, _: Time, path: Path, _: &[u8]) -> Option<Owner<()>> {
        self.endpoint.is_from_server(path.remote).then_some(Owner::Association((), None))
    }

    fn read(
        &mut self,
        (): (),
        now: Time,
        path: Option<Path>,
        datagram: &mut [u8],
    ) -> Result<Progress<ClientQuestion>, Error> {
        let spare = self.spare_ids();
        let path = path.unwrap_or(self.endpoint.path());
        let read = self.endpoint.read(now, path, datagram);
        self.note_used_ids(spare);
        if let Ok(progress) = &read {
            self.received += progress.consumed as u64;
            // Others may not know the messages of RFC 9147 §9, and close: so wolfSSL did until 2026 (wolfSSL #6367).
            if matches!(progress.event, ReadEvent::NeedInput)
                && self.endpoint.association().can_check_paths()
            {
                self.request_ids();
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
        let answered = answer(Face::Datagrams(self.endpoint.association_mut()), now);
        if answered.as_ref().is_err_and(Error::is_final) {
            self.endpoint.end();
        }
        answered
    }

    fn write(&mut self, (): (), data: &[u8], out: &mut Vec<u8>) -> Result<Path, Error> {
        let start = out.len();
        let path = self.endpoint.write(data, out)?;
        self.sent += (out.len() - start) as u64;
        Ok(path)
    }

    fn transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Path> {
        let start = out.len();
        let path = self.endpoint.transmit(now, out);
        self.sent += (out.len() - start) as u64;
        path
    }

    fn deadline(&self) -> Option<Duration> {
        self.endpoint.deadline()
    }

    fn handle_timeouts(&mut self, now: Time) -> Vec<((), Error, Option<Known>)> {
        if self.deadline().is_none_or(|deadline| deadline > now.monotonic) {
            return Vec::new();
        }
        let result = self.endpoint.handle_timeout(now);
        result.err().map(|error| ((), error, None)).into_iter().collect()
    }

    fn with<R>(
        &mut self,
        (): (),
        change: impl FnOnce(&mut Association<ClientHandshake>) -> R,
    ) -> Option<R> {
        Some(change(self.endpoint.association_mut()))
    }

    fn look_at<R>(
        &mut self,
        (): (),
        _: Time,
        look: impl FnOnce(&Association<ClientHandshake>) -> R,
    ) -> Option<R> {
        Some(look(self.endpoint.association()))
    }

    fn path(&self, (): ()) -> Option<Path> {
        Some(self.endpoint.path())
    }

    fn bytes(&self, (): ()) -> Option<[u64; 2]> {
        Some([self.received, self.sent])
    }

    fn remove(&mut self, (): ()) {
        self.endpoint.end();
    }

    fn next_released_socket(&mut self) -> Option<SocketAddr> {
        let unused = self.locals.iter().position(|it| !self.endpoint.uses_local(Some(*it)))?;
        Some(self.locals.swap_remove(unused))
    }

    fn note_refusal(&mut self, local: Option<SocketAddr>, now: Time) {
        if self.endpoint.path().local == local {
            self.endpoint.suspect_path(now);
        }
    }
}

/// How many connection IDs are kept for moves.
const SPARE_IDS: usize = 2;
