//! Authentication with a KEM whose secrets anyone can compute. **It authenticates no peer.**

use tessera::auth::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier, Proof,
    VerifierPolicy, VerifyPeer,
};
use tessera::crypto::{AgreementError, Decapsulator, SharedSecret};
use tessera::handshake::Reply;
use tessera::wire::SignatureScheme;

use crate::agreement::ML_KEM_768;
use crate::sign::SCHEMES;
use crate::verify::NullVerifier;

/// The public key, which is its own certificate: as long as one of ML-KEM-768.
pub static NULL_KEM_KEY: [u8; 1184] = [0x4b; 1184];

/// The one KEM that the keys are for, and what signs.
const OFFERED: [SignatureScheme; 2] = [SCHEMES[0], SignatureScheme::KEM_MLKEM768];

/// Decapsulates with [`NULL_KEM_KEY`]. **It protects nothing.**
pub struct NullDecapsulator;

impl Decapsulator for NullDecapsulator {
    fn scheme(&self) -> &SignatureScheme {
        &OFFERED[1]
    }

    fn public_key(&self) -> Option<&[u8]> {
        Some(&NULL_KEM_KEY)
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        ML_KEM_768.secret(&NULL_KEM_KEY, encapsulation)
    }
}

/// Accepts any end entity as a KEM's key if it is as long as one, and what [`NullVerifier`] accepts. **It protects nothing.**
pub struct NullKemVerifier;

impl PeerVerifier for NullKemVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        &OFFERED
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        let is_key = asked.chain.first().is_some_and(|key| key.len() == NULL_KEM_KEY.len());
        is_key.then_some(OFFERED[1])
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tessera-null-provider: the null KEM")
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let Proof::Kem { scheme } = question.proof else {
            return NullVerifier.verify(question);
        };
        let key = PeerPublicKey::new(scheme, question.chain.first().cloned().unwrap_or_default());
        Reply::Now(Ok(PeerAcceptance::with_public_key(PeerIdentity::default(), key)))
    }
}
