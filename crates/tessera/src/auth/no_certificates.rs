//! The verifier of those who know their peers by PSKs.

use super::policy::VerifierPolicy;
use super::verifier::{PeerAcceptance, PeerRejected, PeerVerifier, VerifyPeer};
use crate::question::Reply;
use crate::wire::{AlertDescription, SignatureScheme};

/// Refuses every certificate: the peer is known by a PSK, or the handshake fails.
///
/// A client has a verifier even where it offers only PSKs; without the feature `certificates` it is never asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCertificates;

impl PeerVerifier for NoCertificates {
    fn schemes(&self) -> &[SignatureScheme] {
        // A hello has one in any case (RFC 8446 §9.2): its PSK may be unknown to the server.
        &[SignatureScheme::ECDSA_SECP256R1_SHA256]
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("no certificates")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let reason = match cfg!(feature = "reasons") {
            true => "no certificate is accepted here: the peer didn't use a PSK",
            false => "",
        };
        Reply::Now(Err(PeerRejected::new(AlertDescription::BAD_CERTIFICATE, reason)))
    }
}
