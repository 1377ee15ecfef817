//! What of N32-c counts for N32-f.

use std::fmt;

use super::CertificateIdentity;
use crate::names::Fqdn;

/// Knows which associations are established. It is asked in the middle of handshakes: it answers at once.
pub trait AssociationsOf: Send + Sync {
    /// The association with the peer that the configuration names so, and the certificate by which N32-c knew it; `None`
    /// if there is none, or it was terminated.
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)>;
}

/// Which association it is.
///
/// It is a digest of what was agreed between whom, and of how often an association of the two was ended before. So
/// both sides come to the same one whichever exchange was the last, also if both began at once; an instance that was
/// restarted, or that shares the peer with another, comes to the same one too, and sessions resume there. After a
/// termination it is another one, and sessions from before don't resume.
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
