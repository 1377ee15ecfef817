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
}

impl Arrival {
    /// Adds the connection's own extensions, at most 16, with 16 KiB in all: QUIC's transport parameters, a
    /// connection ID. Each is sent if the ClientHello has one of the same type, and then replaces that of
    /// [`ServerConfig::extensions`](crate::ServerConfig::extensions).
    ///
    /// # Errors
    /// [`Error::Configuration`] if the engine can't send them.
    pub fn with_extensions(self, extensions: Vec<OpaqueExtension>) -> Result<Self, Error> {
        OpaqueExtension::check_all(&extensions)?;
        Ok(Self { extensions, ..self })
    }

    /// Continues after a HelloRetryRequest that a server sent before the connection existed: the first ClientHello
    /// is the one with the cookie.
    #[must_use]
    pub fn after_retry(self, retry: RetryState) -> Self {
        Self { retry: Some(retry), ..self }
    }
}
