//! Why a client is refused.

use std::fmt;

/// Why a client was not admitted, or not moved to its own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressRefusal {
    /// Its address is at [`Limits::connections_per_address`](super::Limits::connections_per_address).
    Connections,
    /// Its address is at [`Limits::handshakes_per_address`](super::Limits::handshakes_per_address).
    Handshakes,
}

impl fmt::Display for AddressRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "its address has reached its limit of connections",
            Self::Handshakes => "its address has reached its limit of handshakes in progress",
        })
    }
}

impl std::error::Error for AddressRefusal {}
