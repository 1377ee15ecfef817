//! How the peer is authenticated: the certificate flight and the seam to whoever judges it.

mod verifier;

pub use verifier::{PeerIdentity, PeerRejected, PeerVerifier, VerifyPeer};
