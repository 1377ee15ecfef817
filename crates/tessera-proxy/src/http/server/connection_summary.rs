//! The end of a connection.

use std::fmt;
use std::io;

use super::upgrade_end::UpgradeEnd;

/// How a connection ended, and what it carried.
#[derive(Debug)]
pub struct ConnectionSummary {
    /// Requests whose head was read.
    pub requests: u64,
    /// Why it ended.
    pub cause: Cause,
}

/// Why a connection ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The client closed it.
    Closed,
    /// The server shut down. `cut` requests were unfinished after [`drain_time`](super::ServerOptions::drain_time).
    Drained {
        /// The number of requests.
        cut: usize,
    },
    /// No request came for [`idle_time`](super::ServerOptions::idle_time).
    Idle,
    /// No complete head came within [`head_time`](super::ServerOptions::head_time).
    SlowHead,
    /// An exchange took longer than [`exchange_time`](super::ServerOptions::exchange_time), and was the connection's
    /// only one.
    SlowExchange,
    /// The client read nothing for [`stall_time`](super::ServerOptions::stall_time).
    Stalled,
    /// A PING wasn't answered in time.
    NoPong,
    /// The client cancelled far more requests than it let finish (CVE-2023-44487).
    RapidReset,
    /// The client violated the protocol. The text is for logs, and may contain what the client sent.
    Protocol(String),
    /// The connection failed.
    Io(io::Error),
    /// The connection was upgraded, and ended so. HTTP/2 upgrades only a stream.
    Upgraded(UpgradeEnd),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the client closed the connection",
            Self::Drained { cut: 0 } => "the server shut down",
            Self::Drained { cut } => {
                return write!(f, "the server shut down, and {cut} requests were cut");
            }
            Self::Idle => "no request arrived for too long",
            Self::SlowHead => "the head of a request took too long",
            Self::SlowExchange => "an exchange took too long",
            Self::Stalled => "the client read nothing for too long",
            Self::NoPong => "a PING was not answered",
            Self::RapidReset => "the client reset too many requests",
            Self::Protocol(why) => return write!(f, "the client broke the protocol: {why}"),
            Self::Io(error) => return write!(f, "the connection failed: {error}"),
            Self::Upgraded(end) => return write!(f, "after an upgrade, {end}"),
        })
    }
}

impl Cause {
    /// Classifies an error of hyper or h2 by its innermost source.
    pub(super) fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let (mut text, mut cause) = (error.to_string(), Some(error));
        while let Some(error) = cause {
            if let Some(io) = error.downcast_ref::<io::Error>() {
                return Self::of_io(io);
            }
            if let Some(io) = error.downcast_ref::<h2::Error>().and_then(h2::Error::get_io) {
                return Self::of_io(io);
            }
            text = error.to_string();
            cause = error.source();
        }
        Self::Protocol(text)
    }

    fn of_io(error: &io::Error) -> Self {
        // h2 keeps only an error's kind and text.
        if error.kind() == io::ErrorKind::TimedOut && error.to_string() == StalledWrite.to_string()
        {
            return Self::Stalled;
        }
        Self::Io(io::Error::new(error.kind(), error.to_string()))
    }
}

/// The inner error of a write that timed out.
#[derive(Debug)]
pub(super) struct StalledWrite;

impl fmt::Display for StalledWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the peer did not read for too long")
    }
}

impl std::error::Error for StalledWrite {}
