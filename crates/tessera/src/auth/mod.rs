//! How the peer is authenticated: the certificate flight and the seam to whoever judges it.

mod certificate_flight;
mod credential;
mod criteria;
mod verifier;

pub(crate) use certificate_flight::{
    Role, accept_peer, equal, read_certificate_verify, read_finished, send_certificate,
    send_certificate_verify, send_finished,
};
pub(crate) use credential::choose_credential;
pub use credential::{Credential, PrivateKey};
pub(crate) use criteria::{check_criteria, criteria_have, write_criteria};
pub use verifier::{PeerIdentity, PeerRejected, PeerVerifier, VerifyPeer};
