//! What of N32-c counts for N32-f.

use super::CertificateIdentity;
pub use crate::n32c::AssociationId;
use crate::n32c::Associations;
use crate::names::Fqdn;

/// Knows which associations are established. It is asked in the middle of handshakes: it answers at once.
pub trait AssociationsOf: Send + Sync {
    /// The association with the peer that the configuration names so, and the certificate by which N32-c knew it; `None`
    /// if there is none, or it was terminated.
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)>;
}

impl AssociationsOf for Associations {
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)> {
        let association = Self::established(self, peer)?;
        Some((association.id, association.certificate.clone()))
    }
}
