//! Peers with keys of ML-KEM, which decapsulate instead of signing (docs/kem-auth.md).

use tessera::auth::{PeerPublicKey, joined};
use tessera::wire::SignatureScheme;

use crate::algorithms::key_parts;
use crate::certificate::Certificate;
use crate::defect::Defect;

/// Those whose keys have a form in certificates and are for keyEncipherment (RFC 9935 §5).
const KEMS: [SignatureScheme; 3] =
    [SignatureScheme::KEM_MLKEM512, SignatureScheme::KEM_MLKEM768, SignatureScheme::KEM_MLKEM1024];

/// Returns the key of ML-KEM in a SubjectPublicKeyInfo (DER): for clients that know a server's key (docs/kem-auth.md §9).
/// `None` if it is of another kind, or malformed.
#[must_use]
pub fn kem_public_key(info: &[u8]) -> Option<PeerPublicKey> {
    public_key(of_key(info)?, info).ok()
}

pub(crate) fn is_known(scheme: SignatureScheme) -> bool {
    KEMS.contains(&scheme)
}

/// Returns the KEM of a certificate's key, accepted or not.
pub(crate) fn of_certificate(der: &[u8]) -> Option<SignatureScheme> {
    of_key(Certificate::read(der).ok()?.public_key)
}

/// Returns the KEM of the key in a SubjectPublicKeyInfo. Its parameters don't count: it is no other's key with wrong ones.
pub(crate) fn of_key(info: &[u8]) -> Option<SignatureScheme> {
    let (algorithm, _) = key_parts(info).ok()?;
    let is_of = |kem: &SignatureScheme| is_identified(*kem, algorithm);
    KEMS.into_iter().find(is_of)
}

/// Returns the key in a SubjectPublicKeyInfo if it is one of this KEM. The engine checks the key itself.
pub(crate) fn public_key(scheme: SignatureScheme, info: &[u8]) -> Result<PeerPublicKey, Defect> {
    let (algorithm, key) = key_parts(info)?;
    if !is_identified(scheme, algorithm) {
        return Err(Defect::ProofKind);
    }
    // RFC 9935 §3: there are no parameters.
    if scheme.kem_key_algorithm() != Some(algorithm) {
        return Err(Defect::Malformed);
    }
    let key = joined(&[key]).map_err(|_| Defect::OutOfMemory)?;
    Ok(PeerPublicKey::new(scheme, key))
}

/// Whether the contents of an AlgorithmIdentifier begin with this KEM's identifier.
fn is_identified(scheme: SignatureScheme, algorithm: &[u8]) -> bool {
    scheme.kem_key_algorithm().is_some_and(|identifier| algorithm.starts_with(identifier))
}
