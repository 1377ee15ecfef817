//! What a verified certificate says of its holder.

use crate::names::{Fqdn, PlmnSet};

/// Who a SEPP is by the certificate that it proved to hold, after its chain was verified against one trust anchor
/// (TS 33.501 §13.1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateIdentity {
    /// Its DNS names.
    pub fqdns: Vec<Fqdn>,
    /// The networks that its names are of, as far as the anchor is for them.
    pub plmns: PlmnSet,
    /// The name of the trust anchor in the configuration.
    pub anchor: String,
    /// SHA-256 of the certificate.
    pub fingerprint: [u8; 32],
    /// The end of its validity, in seconds since 1970.
    pub expires_at: u64,
}
