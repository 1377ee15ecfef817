//! What TLS asks of N32-c.

use std::sync::{OnceLock, Weak};

use crate::identity::{AssociationId, AssociationsOf, CertificateIdentity};
use crate::n32c::Associations;
use crate::names::Fqdn;

/// The associations, for TLS, which is there before them: they are negotiated over it.
#[derive(Default)]
pub(super) struct LateAssociations(OnceLock<Weak<Associations>>);

impl LateAssociations {
    /// From now on these are asked.
    pub(super) fn are(&self, associations: Weak<Associations>) {
        // They are made once.
        let _ = self.0.set(associations);
    }
}

impl AssociationsOf for LateAssociations {
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)> {
        let association = self.0.get()?.upgrade()?.established(peer)?;
        Some((AssociationId(association.id.0), association.certificate.clone()))
    }
}
