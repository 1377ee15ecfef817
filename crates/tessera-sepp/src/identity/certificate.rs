//! Who a certificate says that it is.

use std::sync::Arc;

use crate::names::{Fqdn, PlmnSet};

/// What was verified of a peer's certificate. A resumed connection has that of its full handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateIdentity {
    /// The names in the certificate (subjectAltName), sorted, each once.
    pub fqdns: Vec<Fqdn>,
    /// The networks that it speaks for.
    pub plmns: PlmnSet,
    /// The trust anchor under which it was verified, as the configuration names it.
    pub anchor: Arc<str>,
    /// SHA-256 of the certificate.
    pub fingerprint: [u8; 32],
    /// When it ends, in seconds since the Unix epoch.
    pub expires_at: u64,
}
