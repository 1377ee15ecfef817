//! What of N32-c counts for N32-f.

use super::CertificateIdentity;
use crate::names::Fqdn;

/// The name of an association: another one whenever N32-c has agreed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AssociationId(pub [u8; 16]);

/// Knows which associations are established. It is asked in the middle of handshakes: it answers at once.
pub trait AssociationsOf: Send + Sync {
    /// The association with the peer that the configuration names so, and the certificate by which N32-c knew it; `None`
    /// if there is none, or it was terminated.
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)>;
}
