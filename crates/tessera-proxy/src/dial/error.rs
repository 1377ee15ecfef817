//! Errors of dialling.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use crate::address::DialAddress;

/// Why there is no connection: each address that was tried, and its error.
#[derive(Debug)]
pub struct DialError {
    target: DialAddress,
    tried: Vec<Attempt>,
}

#[derive(Debug)]
pub(super) struct Attempt {
    /// `None` if the target itself is an address.
    address: Option<SocketAddr>,
    error: io::Error,
}

impl Attempt {
    pub(super) fn of(address: SocketAddr, error: io::Error) -> Self {
        Self { address: Some(address), error }
    }

    /// An error before any address was tried, or of a target that is itself an address.
    pub(super) fn of_all(error: io::Error) -> Self {
        Self { address: None, error }
    }
}

impl DialError {
    pub(super) fn new(target: DialAddress, tried: Vec<Attempt>) -> Self {
        Self { target, tried }
    }

    /// Returns the kind of the error; of several addresses, that of the last one tried.
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
