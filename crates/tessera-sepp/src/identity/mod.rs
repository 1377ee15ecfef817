//! Who a peer is.

mod certificate;

pub use self::certificate::CertificateIdentity;
