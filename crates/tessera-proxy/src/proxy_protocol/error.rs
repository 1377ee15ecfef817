//! Errors of headers.

use std::fmt;
use std::io;
use std::time::Duration;

/// Why a header can't be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum HeaderError {
    /// Reading failed.
    Io(io::Error),
    /// The sender was too slow.
    TimedOut {
        /// The time limit.
        limit: Duration,
    },
    /// The connection ended within the header.
    Truncated {
        /// The bytes received.
        received: usize,
    },
    /// Something else was received.
    NotAHeader {
        /// What it looks like.
        looks_like: DetectedProtocol,
    },
    /// A version other than 2, or a command unknown to version 2.
    UnknownVersion(u8),
    /// It is too long.
    TooLong {
        /// Its length in bytes, or what it would be.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Its contents are invalid.
    Malformed(String),
    /// The checksum doesn't match.
    Checksum,
}

/// What was received instead of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DetectedProtocol {
    /// A header of version 1.
    Version1,
    /// A ClientHello: the sender is not a proxy, or its `send-proxy-v2` is off.
    Tls,
    /// None of these.
    Unknown,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "reading the PROXY header failed: {error}"),
            Self::TimedOut { limit } => write!(f, "no complete PROXY header within {limit:?}"),
            Self::Truncated { received: 0 } => {
                f.write_str("the connection ended before its PROXY header")
            }
            Self::Truncated { received } => {
                write!(f, "the connection ended after {received} bytes of its PROXY header")
            }
            Self::NotAHeader { looks_like: DetectedProtocol::Version1 } => f.write_str(
                "a PROXY header of version 1, but only version 2 is accepted (HAProxy: send-proxy-v2)",
            ),
            Self::NotAHeader { looks_like: DetectedProtocol::Tls } => f.write_str(
                "TLS without a PROXY header before it (HAProxy sends one with send-proxy-v2)",
            ),
            Self::NotAHeader { looks_like: DetectedProtocol::Unknown } => f.write_str(
                "not a PROXY header, which `accept-proxy-from` requires of this address; let it send version 2 \
                 (HAProxy: send-proxy-v2), or remove its network there",
            ),
            Self::UnknownVersion(byte) => write!(
                f,
                "a PROXY header with version and command {byte:#04x}; only version 2 with PROXY (0x21) or LOCAL \
                 (0x20) is accepted"
            ),
            Self::TooLong { len, limit } => {
                write!(f, "a PROXY header of {len} bytes, above the limit of {limit}")
            }
            Self::Malformed(why) => write!(f, "a malformed PROXY header: {why}"),
            Self::Checksum => f.write_str("a PROXY header with a wrong checksum"),
        }
    }
}

impl std::error::Error for HeaderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
