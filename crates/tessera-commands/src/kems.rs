//! The KEMs with which peers may authenticate (docs/kem-auth.md).

use tessera::wire::SignatureScheme;
use tessera_kit::ProgramError;
use tessera_webpki::WebPkiVerifier;

/// All whose keys certificates can have, in order of preference.
pub(crate) const KEMS: &[SignatureScheme] = &[
    SignatureScheme::KEM_MLKEM768,
    SignatureScheme::KEM_MLKEM1024,
    SignatureScheme::KEM_MLKEM512,
    SignatureScheme::KEM_X25519,
];

/// Returns a verifier that accepts them too, if `kem_auth` is set.
pub(crate) fn accepted(
    kem_auth: bool,
    verifier: WebPkiVerifier,
) -> Result<WebPkiVerifier, ProgramError> {
    if !kem_auth {
        return Ok(verifier);
    }
    verifier.accepting_kems(KEMS).map_err(|error| ProgramError::failed("--kem-auth", error))
}
