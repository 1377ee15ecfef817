//! Why nobody could be reached.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use crate::address::DialAddress;

/// Why there is no connection: each address that was tried, and what came of it.
#[derive(Debug)]
pub struct DialError {
    target: DialAddress,
    tried: Vec<Attempt>,
}

#[derive(Debug)]
pub(super) struct Attempt {
    /// `None` where it was the target itself.
    address: Option<SocketAddr>,
    error: io::Error,
}

impl Attempt {
    pub(super) fn of(address: SocketAddr, error: io::Error) -> Self {
        Self { address: Some(address), error }
    }

    /// What failed before any address, or where the target is one itself.
    pub(super) fn of_all(error: io::Error) -> Self {
        Self { address: None, error }
    }
}

impl DialError {
    pub(super) fn new(target: DialAddress, tried: Vec<Attempt>) -> Self {
        Self { target, tried }
    }

    /// The kind of the last error: where several addresses were tried, of the last one.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.tried.last().map_or(io::ErrorKind::NotFound, |attempt| attempt.error.kind())
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.target)?;
        let mut separator = "";
        for Attempt { address, error } in &self.tried {
            f.write_str(separator)?;
            if let Some(address) = address
                && self.target != DialAddress::Tcp(*address)
            {
                write!(f, "{address}: ")?;
            }
            write!(f, "{error}")?;
            separator = "; ";
        }
        Ok(())
    }
}

impl std::error::Error for DialError {}
