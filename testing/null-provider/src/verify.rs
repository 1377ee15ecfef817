//! A verifier that ignores certificates. **It authenticates no peer.**

use alloc::string::ToString;

use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, Proof, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, SignatureScheme};

use crate::sign::{SCHEMES, SIGNATURE};

/// Accepts any chain with the signature of [`NullSigner`](crate::NullSigner), at once. **It protects nothing.**
pub struct NullVerifier;

impl PeerVerifier for NullVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        &SCHEMES
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tessera-null-provider: the null signature")
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let known = matches!(
            &question.proof,
            Proof::Signature { scheme, signature, .. }
                if SCHEMES.contains(scheme) && *signature == SIGNATURE
        );
        let accepted = known.then(|| PeerIdentity::default().into());
        Reply::Now(accepted.ok_or_else(|| PeerRejected {
            alert: AlertDescription::DECRYPT_ERROR,
            reason: "not the null signature".to_string(),
        }))
    }
}
