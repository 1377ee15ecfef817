//! The sockets of a client: which one it uses, and which ones it could.

use std::net::SocketAddr;

use tessera::Time;

use super::ClientEndpoint;
use super::other_path::{CheckReason, OtherPath};
use crate::path::Path;

impl ClientEndpoint {
    /// Adds a socket to go on with when three round trips bring no answer to what was sent by the one in use.
    pub fn add_spare(&mut self, local: Option<SocketAddr>) {
        let path = Path { local, ..self.current };
        if path.local == self.current.local {
            return;
        }
        match self.others.iter_mut().find(|other| other.path.local == local) {
            Some(other) => other.keep(),
            None => self.others.push(OtherPath::spare(path)),
        }
    }

    /// Goes on with another socket as soon as the server has answered there, and keeps the one in use until a second later,
    /// for what is still under way. If the server checks no paths, it can't answer before: the other socket is used at
    /// once.
    pub fn replace_local(&mut self, local: Option<SocketAddr>, now: Time) {
        let path = Path { local, ..self.current };
        // The latest call counts.
        self.others.retain_mut(OtherPath::end_replacing);
        match self.association.can_check_paths() {
            true => self.check(path, CheckReason::Replaces, now),
            false => self.use_local(local, now),
        }
    }

    /// Goes on with another socket at once: that in use doesn't work any more.
    pub fn use_local(&mut self, local: Option<SocketAddr>, now: Time) {
        self.others.retain(|other| other.path.local != local);
        self.current.local = local;
        self.note_new_address(now);
    }

    /// Goes on from another address of the socket in use.
    pub fn note_new_address(&mut self, now: Time) {
        self.association.use_next_connection_id();
        self.silence.end();
        self.follow_from_here(now);
    }

    /// Forgets a socket that is gone. If it is the one in use, another one is used at once, if there is any; returns
    /// whether one is in use.
    pub fn remove_local(&mut self, local: Option<SocketAddr>, now: Time) -> bool {
        self.others.retain(|other| other.path.local != local);
        if self.current.local != local {
            return true;
        }
        // One that was left is the last choice: its network is about to go.
        let next = self.others.iter().min_by_key(|other| other.is_left());
        let Some(next) = next.map(|other| other.path.local) else { return false };
        self.use_local(next, now);
        true
    }

    /// Seeks another socket at once: the system refuses to send by the one in use, such as that of an interface that is
    /// down.
    pub fn suspect_path(&mut self, now: Time) {
        if self.can_fail_over() && !self.silence.is_checked() {
            self.seek_path(now);
        }
    }

    /// Returns whether a socket of the client has a use: others can be closed.
    #[must_use]
    pub fn uses_local(&self, local: Option<SocketAddr>) -> bool {
        self.current.local == local || self.others.iter().any(|other| other.path.local == local)
    }
}
