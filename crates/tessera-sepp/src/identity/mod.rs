//! Who a peer is, how that is known, and for how long.

mod certificate;

pub use self::certificate::CertificateIdentity;
