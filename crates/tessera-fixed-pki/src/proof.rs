//! The proof that a peer holds its private key.

use tessera::auth::{PeerPublicKey, Proof, VerifyPeer};
use tessera::wire::SignatureScheme;

use crate::algorithms::{Algorithms, check};
use crate::defect::Defect;
#[cfg(feature = "kems")]
use crate::kems;

/// Checks that the peer holds the private half of this key (a SubjectPublicKeyInfo), or returns the key with which it will
/// prove that: one of a KEM that is among these schemes.
pub(crate) fn check_proof(
    question: &VerifyPeer,
    public_key: &[u8],
    algorithms: Algorithms,
    schemes: &[SignatureScheme],
) -> Result<Option<PeerPublicKey>, Defect> {
    let _ = schemes;
    match &question.proof {
        Proof::Signature { scheme, signed, signature } => {
            check_signature(algorithms, public_key, *scheme, (signed, signature))?;
            Ok(None)
        }
        #[cfg(feature = "kems")]
        Proof::Kem { scheme } if schemes.contains(scheme) => {
            kems::public_key(*scheme, public_key).map(Some)
        }
        _ => Err(Defect::ProofKind),
    }
}

/// Checks the signature of a handshake under the peer's key (a SubjectPublicKeyInfo).
fn check_signature(
    algorithms: Algorithms,
    public_key: &[u8],
    scheme: SignatureScheme,
    signed: (&[u8], &[u8]),
) -> Result<(), Defect> {
    let mut defect = Defect::Scheme;
    for (_, algorithm) in algorithms.iter().filter(|(known, _)| *known == scheme) {
        let (key, signature) = (Defect::SchemeOfAnotherKey, Defect::ProofSignature);
        match check(*algorithm, public_key, signed, key, signature) {
            Err(Defect::SchemeOfAnotherKey) => defect = Defect::SchemeOfAnotherKey,
            result => return result,
        }
    }
    Err(defect)
}
