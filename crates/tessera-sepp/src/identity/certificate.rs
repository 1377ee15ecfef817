//! What a certificate proves about a peer.

use std::sync::Arc;

use crate::names::{Fqdn, PlmnSet};

/// What was verified of a peer's certificate. A resumed connection has the identity of its full handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateIdentity {
    /// The names in the certificate (subjectAltName), sorted, each once.
    pub fqdns: Vec<Fqdn>,
    /// The networks that it represents.
    pub plmns: PlmnSet,
    /// The trust anchor under which it was verified, by its name in the configuration.
    pub anchor: Arc<str>,
    /// SHA-256 of the certificate.
    pub fingerprint: [u8; 32],
    /// Its end of validity, in seconds since the Unix epoch.
    pub expires_at: u64,
}

impl CertificateIdentity {
    /// Returns whether it claims no more than the certificate of the peer's N32-c: the same anchor, and no other
    /// networks (TS 33.501 §13.1.2).
    #[must_use]
    pub fn is_within(&self, n32c: &Self) -> bool {
        self.anchor == n32c.anchor && self.plmns.is_subset_of(&n32c.plmns)
    }
}
