//! What N32-f needs to know of N32-c.

use std::fmt;

use super::CertificateIdentity;
use crate::names::Fqdn;

/// Knows which associations are established. Called during handshakes, so it must not block.
pub trait AssociationLookup: Send + Sync {
    /// Returns the association with a configured peer, and the certificate that the peer showed on N32-c; `None` if
    /// there is none, or it was terminated.
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)>;
}

/// Identifies an association.
///
/// It is a digest of what was agreed between whom, and of the number of associations that the two ended before. So both
/// sides compute the same one whichever exchange was last, even if both began at once; a restarted instance, or one
/// that shares the peer with another, computes the same one too, and sessions resume there. After a termination it is
/// different, and earlier sessions don't resume.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(pub [u8; 16]);

impl fmt::Display for AssociationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for AssociationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
