//! What Envoy calls the session ID context: which servers resume each other's sessions.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256, digest};
use tessera_webpki::{ConfigError, issuers, subject_names};

/// The session ID context of a pool: BoringSSL puts it into each session, and resumes only its own.
///
/// Envoy hashes the names and the issuer of its certificates, its rules for clients' certificates, and the `server_names`
/// of the filter chain. Keys and serial numbers may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionContext(pub [u8; 32]);

/// What an Envoy 1.40 without validation of clients hashes in place of its rules for their certificates.
const NO_CLIENT_VALIDATION: &[u8] = &[0];

impl SessionContext {
    /// Computes the context of Envoys with these leaf certificates (DER), in the order of their `tls_certificates`, whose
    /// filter chain matches these `server_names` in their order, and which ask clients for no certificate.
    ///
    /// Measured with Envoy 1.40. Another version may hash more: compare with [`EnvoyKey::context_of`] a ticket of the
    /// pool.
    ///
    /// [`EnvoyKey::context_of`]: crate::EnvoyKey::context_of
    ///
    /// # Errors
    /// Returns an error if a certificate can't be parsed, or has neither a common name nor DNS names, URIs or IP
    /// addresses: Envoy doesn't take it either.
    pub fn of_envoy<C: AsRef<[u8]>>(
        certificates: &[C],
        server_names: &[&str],
    ) -> Result<Self, SessionContextError> {
        let mut hash = Context::new(&SHA256);
        for certificate in certificates {
            let names = subject_names(certificate.as_ref())?;
            if names.is_empty() {
                return Err(SessionContextError::NoNames);
            }
            names.iter().for_each(|name| hash.update(name));
            for issuer in issuers(&[certificate])? {
                hash.update(digest(&SHA256, &issuer).as_ref());
            }
        }
        hash.update(NO_CLIENT_VALIDATION);
        server_names.iter().for_each(|name| hash.update(name.as_bytes()));
        let mut context = [0; 32];
        context.copy_from_slice(hash.finish().as_ref());
        Ok(Self(context))
    }
}

/// Why a context can't be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionContextError {
    /// A certificate can't be parsed.
    Certificate(ConfigError),
    /// A certificate has no names.
    NoNames,
}

impl From<ConfigError> for SessionContextError {
    fn from(error: ConfigError) -> Self {
        Self::Certificate(error)
    }
}

impl fmt::Display for SessionContextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(error) => error.fmt(f),
            Self::NoNames => f.write_str(
                "a certificate of the pool has neither a common name nor alternative names: Envoy needs one",
            ),
        }
    }
}

impl std::error::Error for SessionContextError {}
