//! Clients that came to nothing before they were accepted.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use super::peer::Failure;

/// A client whose handshake failed before it was accepted, or which a limit refused.
#[derive(Debug)]
pub struct FailedClient {
    /// Its address; without a cookie or a ticket it may be forged.
    pub address: SocketAddr,
    /// What failed; with [`RefusedBy`] in it for a limit.
    pub error: io::Error,
}

/// A limit that refused a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedBy {
    /// [`EndpointOptions::max_associations`](tessera_endpoint::EndpointOptions::max_associations).
    Connections,
    /// [`EndpointOptions::max_per_source`](tessera_endpoint::EndpointOptions::max_per_source).
    ConnectionsOfAddress,
}

impl fmt::Display for RefusedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "refused: too many connections",
            Self::ConnectionsOfAddress => "refused: too many connections from this address",
        })
    }
}

impl Error for RefusedBy {}

/// The newest of them, until they are read: a bounded number, since anyone can cause some.
#[derive(Default)]
pub(super) struct Failures {
    unread: VecDeque<(SocketAddr, Cause)>,
    /// How many more there were.
    pub(super) missed: u64,
}

enum Cause {
    Failed(Failure),
    Refused(RefusedBy),
}

impl Failures {
    pub(super) fn failed(&mut self, address: SocketAddr, failure: Failure) {
        self.push(address, Cause::Failed(failure));
    }

    pub(super) fn refused(&mut self, address: SocketAddr, by: RefusedBy) {
        self.push(address, Cause::Refused(by));
    }

    fn push(&mut self, address: SocketAddr, cause: Cause) {
        if self.unread.len() < MOST {
            self.unread.push_back((address, cause));
        } else {
            self.missed += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<FailedClient> {
        let (address, cause) = self.unread.pop_front()?;
        let error = match cause {
            Cause::Failed(failure) => failure.to_io(),
            Cause::Refused(by) => io::Error::new(io::ErrorKind::QuotaExceeded, by),
        };
        Some(FailedClient { address, error })
    }
}

/// How many wait to be read.
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_to_be_read_is_bounded_and_the_rest_is_counted() {
        let mut failures = Failures::default();
        for port in 0..1000 {
            failures.refused(([192, 0, 2, 1], port).into(), RefusedBy::Connections);
        }
        assert_eq!(failures.missed, 1000 - MOST as u64);
        for port in 0..MOST {
            assert_eq!(usize::from(failures.pop().unwrap().address.port()), port);
        }
        assert!(failures.pop().is_none());
        failures.failed(([192, 0, 2, 1], 7).into(), Failure::MovedOut);
        assert!(failures.pop().is_some());
    }
}
