//! How a peer proves itself: what the engine does with a verifier's answer.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier, Proof, VerifierPolicy,
    VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::SignatureScheme;
use tessera_harness::{Mode, Scene};
use tessera_null_provider::{NullVerifier, provider};

/// Accepts every peer, but leaves the proof to the engine.
struct ProofSkipper;

impl PeerVerifier for ProofSkipper {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        NullVerifier.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        assert!(matches!(question.proof, Proof::Signature { .. }));
        let key = PeerPublicKey::new(SignatureScheme(0xfe00), vec![1, 2, 3]);
        Reply::Now(Ok(PeerAcceptance::with_public_key(PeerIdentity::default(), key)))
    }
}

#[test]
fn a_peer_with_an_unchecked_proof_is_not_accepted() {
    let mut scene = Scene::new(provider(), Mode::Full);
    scene.client.verifier = Arc::new(ProofSkipper);
    let mut pair = scene.pair();
    pair.run();
    assert!(matches!(pair.to_client.error, Some(Error::Configuration(_))));
    assert!(!pair.to_client.complete);
}
