//! Who is not let in.

use std::fmt;

/// Why a client was not let in, or not any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// Its address has [`Limits::connections_per_address`](super::Limits::connections_per_address).
    Connections,
    /// Its address has [`Limits::handshakes_per_address`](super::Limits::handshakes_per_address) under way.
    Handshakes,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "its address has as many connections as it may",
            Self::Handshakes => "its address has as many handshakes under way as it may",
        })
    }
}

impl std::error::Error for Refused {}
