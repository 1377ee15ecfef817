//! Where the server's flight comes from: with IPC a socket that nothing has announced.

use std::net::SocketAddr;

use tessera::Time;

use super::ClientEndpoint;
use super::other_path::{CheckReason, OtherPath};
use crate::path::Path;

impl ClientEndpoint {
    /// Notes a record that opened, and is newer than all before.
    pub(super) fn note_record(&mut self, path: Path, is_under_keys: bool, now: Time) {
        // The server answers from a socket of its own before it could announce one: a record under keys shows that. One
        // that was copied may come from elsewhere first: what is sent there isn't acknowledged, and the next one counts. The
        // acknowledgement leads nowhere: the server has got what this client sent to the address in use.
        let is_here = path.local == self.current.local;
        if is_under_keys && is_here && self.may_be_server(path.remote) {
            if !self.is_settled {
                if path != self.current {
                    self.use_remote(path.remote);
                }
                self.note_flight_from(path.remote);
            } else if path != self.current {
                self.check_strange_path(path, now);
            }
        }
        if path == self.current {
            self.end_silence();
        }
    }

    /// Goes to another address of the server, by whichever socket.
    pub(super) fn use_remote(&mut self, remote: SocketAddr) {
        self.current.remote = remote;
        self.others.iter_mut().for_each(|other| other.path.remote = remote);
    }

    fn note_flight_from(&mut self, remote: SocketAddr) {
        self.flight_from.retain(|it| *it != remote);
        self.flight_from.push(remote);
        if self.flight_from.len() > MAX_FLIGHT_PATHS {
            self.flight_from.remove(0);
        }
    }

    /// Checks where the server is if its flight came from several addresses: a copy may have led the client away after its
    /// Finished had gone to the server.
    pub(super) fn check_flight_paths(&mut self, now: Time) {
        if !self.is_settled || self.flight_from.len() < 2 || !self.association.can_check_paths() {
            return;
        }
        let timeout = self.association.path_timeout();
        self.others.extend(self.flight_from.iter().map(|remote| {
            let mut other = OtherPath::new(Path { remote: *remote, ..self.current });
            other.check(CheckReason::Flight, now.monotonic, timeout);
            other
        }));
    }

    /// Checks an address of the server's from which a record came later, the acknowledgement of Finished or another, unless
    /// that is under way: an IPC server sends from its own socket alone, so copies led the client to the address in use. An
    /// announcement names the server's sockets.
    fn check_strange_path(&mut self, path: Path, now: Time) {
        let of_flight = self.others.iter().filter(|it| it.reason() == Some(CheckReason::Flight));
        if self.association.server_address().is_none()
            && of_flight.count() < MAX_FLIGHT_PATHS
            && self.others.iter().all(|other| other.path != path)
        {
            self.check(path, CheckReason::Flight, now);
        }
    }
}

/// How many addresses of a flight are kept: an attacker's copies can come from as many as it has records.
const MAX_FLIGHT_PATHS: usize = 16;
