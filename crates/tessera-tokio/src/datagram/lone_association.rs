//! A client's association, the only one of its socket.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::handshake::{Checked, ClientHandshake, ClientQuestion};
use tessera::{Association, ClientAssociation, ClientConfig, Error, Progress, Time};

use super::associations::{Associations, DatagramHandshake, Owner};
use crate::async_handshake::{AnswerCallback, Face};

/// A client's association.
pub struct LoneAssociation {
    association: ClientAssociation,
    server: SocketAddr,
    has_failed: bool,
    received: u64,
    sent: u64,
}

impl DatagramHandshake for ClientHandshake {
    type Associations = LoneAssociation;
}

impl LoneAssociation {
    pub(super) fn new(association: ClientAssociation, server: SocketAddr) -> Self {
        Self { association, server, has_failed: false, received: 0, sent: 0 }
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
        self.received += read.as_ref().map_or(0, |progress| progress.consumed as u64);
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
        let is_sent = self.association.transmit(now, out);
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
