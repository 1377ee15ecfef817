//! How a side is authenticated: its credential, and the seam to whoever judges the peer.

mod certificate_codec;
mod certificate_form;
mod certificate_type;
mod credential;
mod criteria;
mod verifier;

pub use certificate_codec::{CertificateCodec, CertificateNotDecoded};
pub(crate) use certificate_form::{AcceptedCertificates, CertificateForm, check_certificates};
pub(crate) use certificate_type::{AgreedTypes, NO_COMMON_TYPE, types_of};
pub(crate) use credential::choose_credential;
pub use credential::{Credential, PrivateKey, Sign};
pub use verifier::{PeerIdentity, PeerRejected, PeerVerifier, VerifyPeer};
