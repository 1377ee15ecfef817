//! What a connection brings to a server, beside what the configuration holds for all.

use alloc::vec::Vec;

use super::retry_state::RetryState;
use crate::error::Error;
use crate::wire::OpaqueExtension;

/// What one connection brings to its server. The default is nothing, as over a stream.
#[derive(Default)]
pub struct Arrival {
    pub(super) extensions: Vec<OpaqueExtension>,
    pub(in crate::handshake) retry: Option<RetryState>,
}

impl Arrival {
    /// With extensions of the connection's own, at most 16, with 16 KiB in all: QUIC's transport parameters, a
    /// connection ID. Each is sent if the ClientHello has one of the same type, and then stands in place of that in
    /// [`ServerConfig::extensions`](crate::ServerConfig::extensions).
    ///
    /// # Errors
    /// [`Error::Configuration`] if the engine can't send them.
    pub fn with_extensions(self, extensions: Vec<OpaqueExtension>) -> Result<Self, Error> {
        OpaqueExtension::check_all(&extensions)?;
        Ok(Self { extensions, ..self })
    }

    /// After a HelloRetryRequest that a server sent before there was a connection: the ClientHello that comes first
    /// is the one with the cookie.
    #[must_use]
    pub fn after_retry(self, retry: RetryState) -> Self {
        Self { retry: Some(retry), ..self }
    }
}
