//! The end of an upgraded connection.

use std::fmt;
use std::io;

/// How an upgraded connection ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpgradeEnd {
    /// Both sides ended their directions.
    Closed,
    /// The client failed, or read nothing for [`stall_time`](super::ServerOptions::stall_time).
    Client(io::Error),
    /// The other side did.
    OtherSide(io::Error),
    /// No byte moved for [`UpgradeOptions::idle_time`](super::UpgradeOptions::idle_time).
    Idle,
    /// The signal of [`accept_until`](super::UpgradeRequest::accept_until) was ready.
    Signal,
}

impl fmt::Display for UpgradeEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("both sides ended"),
            Self::Client(error) => write!(f, "the client failed: {error}"),
            Self::OtherSide(error) => write!(f, "the other side failed: {error}"),
            Self::Idle => f.write_str("no byte moved for too long"),
            Self::Signal => f.write_str("the server ended it"),
        }
    }
}
