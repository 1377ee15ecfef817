//! What is specific to one connection of a server, in addition to the shared configuration.

use alloc::vec::Vec;

use super::retry_state::RetryState;
use crate::error::Error;
use crate::wire::OpaqueExtension;

/// What is specific to one connection of a server. The default is nothing, as over a stream.
#[derive(Default)]
pub struct Arrival {
    pub(super) extensions: Vec<OpaqueExtension>,
    pub(in crate::handshake) retry: Option<RetryState>,
    pub(super) is_unproved: bool,
}

impl Arrival {
    /// Adds the connection's own extensions, at most 16, with 16 KiB in all: QUIC's transport parameters, a
    /// connection ID. Each is sent if the ClientHello has one of the same type, and then replaces that of
    /// [`ServerConfig::extensions`](crate::ServerConfig::extensions).
    ///
    /// # Errors
    /// [`Error::Configuration`] if the engine can't send them.
    pub fn with_extensions(mut self, extensions: Vec<OpaqueExtension>) -> Result<Self, Error> {
        self.extensions.extend(extensions);
        OpaqueExtension::check_all(&self.extensions)?;
        Ok(self)
    }

    /// Requires a PSK whose binder is right, because the client hasn't shown that it receives what is sent to its address:
    /// with anything else the connection ends with [`Error::AddressUnproved`] before a signature, a key exchange or the
    /// take of a one-time key, and its owner asks for a cookie ([`RetryState::request`]).
    #[must_use]
    pub fn from_unproved_address(self) -> Self {
        Self { is_unproved: true, ..self }
    }

    /// Returns an error if the client's address is unproved and no PSK vouches for it.
    pub(super) fn check_address(&self, is_vouched: bool) -> Result<(), Error> {
        if self.is_unproved && !is_vouched { Err(Error::AddressUnproved) } else { Ok(()) }
    }

    /// Returns whether the connection continues after a HelloRetryRequest.
    pub(crate) fn is_after_retry(&self) -> bool {
        self.retry.is_some()
    }

    /// Continues after a HelloRetryRequest that a server sent before the connection existed: the first ClientHello
    /// is the one with the cookie.
    #[must_use]
    pub fn after_retry(self, retry: RetryState) -> Self {
        Self { retry: Some(retry), ..self }
    }
}
