//! The keys of certificates: made here, or public keys whose owners have the private ones.

use std::fmt::Display;
use std::path::Path;

use tessera::crypto::Provider;
use tessera::wire::SignatureScheme;
use tessera_aws_lc::{KemKey, SigningKey};
use tessera_kit::{ProgramError, SettingFile, pem};
use tessera_webpki::kem_public_key;
use zeroize::Zeroizing;

/// A key that was just made.
pub(super) struct GeneratedKey {
    /// PKCS#8, DER.
    pub(super) private: Zeroizing<Vec<u8>>,
    /// SubjectPublicKeyInfo, DER.
    pub(super) public: Vec<u8>,
}

/// Makes a key of this kind.
pub(super) fn generate(kind: SignatureScheme) -> Result<GeneratedKey, ProgramError> {
    let failed = |error: &dyn Display| ProgramError::failed("making a key", error);
    if kind.kem().is_some() {
        let private = KemKey::generate_pkcs8(kind).map_err(|error| failed(&error))?;
        let key = KemKey::from_pkcs8(&private).map_err(|error| failed(&error))?;
        return Ok(GeneratedKey { public: key.public_key_info().to_vec(), private });
    }
    let private = SigningKey::generate_pkcs8(kind).map_err(|error| failed(&error))?;
    let key = SigningKey::from_pkcs8(&private).map_err(|error| failed(&error))?;
    let public = key.public_key_info().map_err(|error| failed(&error))?;
    Ok(GeneratedKey { private, public })
}

/// Reads a public key. One of a KEM must pass its checks (FIPS 203 §7.2).
pub(super) fn public_key(path: &Path, provider: &Provider) -> Result<Vec<u8>, ProgramError> {
    let file = SettingFile { setting: "--public-key", path };
    let key = pem::public_key(file)?;
    if let Some(kem_key) = kem_public_key(&key) {
        let kem = provider.kem(kem_key.scheme());
        if kem.is_none_or(|kem| kem.encapsulate(kem_key.as_bytes()).is_err()) {
            return Err(ProgramError::in_file(
                path,
                "this is not a public key of its KEM; make another",
            ));
        }
    }
    Ok(key)
}
