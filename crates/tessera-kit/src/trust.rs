//! Whom to trust.

use tessera_webpki::{PinnedKey, PinnedKeyVerifier, WebPkiVerifier};

use crate::error::ProgramError;
use crate::pem;
use crate::setting::SettingFile;

/// Judges peers by the roots of a PEM file.
///
/// # Errors
/// If the file can't be read, or a certificate in it can't be a root.
pub fn roots(file: SettingFile<'_>) -> Result<WebPkiVerifier, ProgramError> {
    roots_of(file, &pem::certificates(file)?)
}

/// Judges peers by these roots, which were read from a file.
///
/// # Errors
/// If a certificate can't be a root.
pub fn roots_of(
    file: SettingFile<'_>,
    certificates: &[Vec<u8>],
) -> Result<WebPkiVerifier, ProgramError> {
    WebPkiVerifier::new(certificates)
        .map_err(|error| ProgramError::settings(format!("{}: {error}", file.path.display())))
}

/// Judges peers by the roots that the operating system trusts; `otherwise` is the setting that names
/// others.
///
/// # Errors
/// If the system has no roots.
pub fn system(otherwise: &str) -> Result<WebPkiVerifier, ProgramError> {
    tessera_tokio::system_verifier().map_err(|error| {
        ProgramError::settings(format!(
            "the system's trust store: {error}; install it (the package ca-certificates), or name \
             roots with {otherwise}"
        ))
    })
}

/// Judges peers by the raw public keys (RFC 7250) of a PEM file, all of them of the peer of this name.
///
/// # Errors
/// If the file can't be read, a key in it can't be one, or the name can't be.
pub fn raw_public_keys(
    file: SettingFile<'_>,
    name: &str,
) -> Result<PinnedKeyVerifier, ProgramError> {
    let keys = pem::public_keys(file)?;
    let keys = keys.into_iter().map(|public_key| PinnedKey { public_key, name: name.to_owned() });
    PinnedKeyVerifier::new(keys.collect())
        .map_err(|error| ProgramError::settings(format!("{}: {error}", file.path.display())))
}
