//! A verifier that requests OCSP responses.

use tessera::Reply;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::wire::{EntryExtensions, SignatureScheme};
use tessera_null_provider::NullVerifier;

/// A verifier that takes what is stapled to the certificate as the peer's identity.
pub(crate) struct StapleVerifier;

impl PeerVerifier for StapleVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        EntryExtensions { status_request: true, signed_certificate_timestamp: false }
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: wants OCSP responses")
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let blob = question.ocsp_response.clone().unwrap_or_default();
        Reply::Now(Ok(PeerIdentity { blob, expires_at: None }.into()))
    }
}
