//! What goes out.

use std::io;
use std::sync::Arc;

use tessera::{Association, EarlyDataStatus, Error, Role};
use tessera_endpoint::Path;

use super::associations::{Associations, DatagramHandshake};
use super::hub::{Id, State};
use super::peer::Failure;
use super::socket::{Socket, is_of_network};

/// What became of data that was to be sent.
pub(super) enum SendStep {
    Sent,
    /// It must wait for the socket.
    Blocked(Arc<Socket>),
}

impl<S: DatagramHandshake> State<S> {
    /// Sends what the associations have to send, as far as the socket takes it.
    pub(super) fn flush(&mut self) {
        if self.is_held {
            return;
        }
        let now = self.now();
        loop {
            let to = match self.unsent.take() {
                Some(to) => to,
                None => {
                    self.out.clear();
                    match self.associations.transmit(now, &mut self.out) {
                        Some(to) => to,
                        None => break,
                    }
                }
            };
            if !self.try_send(to) {
                break;
            }
        }
        if self.associations.deadline() != self.alarm {
            self.wake_driver();
        }
    }

    /// Sends what is in `out`; returns whether the socket had room. What the network refuses is lost, as on the way.
    fn try_send(&mut self, to: Path) -> bool {
        let socket = self.sockets.named(to.local).clone();
        let mut sent = socket.try_send(&self.out, to.remote);
        if let Err(error) = &sent
            && is_of_network(error)
        {
            // The system reports what became of an earlier datagram, and has not sent this one.
            self.note_error(error);
            sent = socket.try_send(&self.out, to.remote);
        }
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.unsent = Some(to);
                self.wake_driver();
                return false;
            }
            // Such as that of an interface that is down.
            Err(_) => self.associations.note_refusal(to.local, self.now()),
            Ok(_) => (),
        }
        true
    }

    /// Sends data as one datagram; `None`: it must wait for the peer.
    pub(super) fn send(&mut self, id: Id<S>, data: &[u8]) -> io::Result<Option<SendStep>> {
        self.is_held = false;
        self.flush();
        if let Some(socket) = self.blocked_socket() {
            return Ok(Some(SendStep::Blocked(socket)));
        }
        let Some(peer) = self.peers.get(&id) else {
            return Err(Failure::Engine(Error::Closed).to_io());
        };
        if let Some(failed) = &peer.failed {
            return Err(failed.failure.to_io());
        }
        if !peer.is_complete && !self.has_early_data(id) {
            return Ok(None);
        }
        self.out.clear();
        match self.associations.write(id, data, &mut self.out) {
            Ok(to) => self.try_send(to),
            Err(Error::TooEarly(_)) => return Ok(None),
            Err(error) => return Err(Failure::Engine(error).to_io()),
        };
        self.flush();
        Ok(Some(SendStep::Sent))
    }

    /// Returns whether a server may answer before the end of the handshake: the client's PSK vouches for it.
    fn has_early_data(&mut self, id: Id<S>) -> bool {
        let is_accepted =
            |it: &mut Association<S>| it.facts().early_data == EarlyDataStatus::Accepted;
        S::ROLE == Role::Server && self.associations.with(id, is_accepted) == Some(true)
    }

    /// Returns the socket that has no room for what is to be sent.
    pub(super) fn blocked_socket(&self) -> Option<Arc<Socket>> {
        self.unsent.map(|path| self.sockets.named(path.local).clone())
    }
}
