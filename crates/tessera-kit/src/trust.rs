//! Verifiers from files and from the system.

use std::path::Path;
use std::sync::OnceLock;

use tessera::auth::{PeerRejected, VerifyPeer};
use tessera::wire::AlertDescription;
use tessera_webpki::{
    ChainStore, KnownChains, PinnedKey, PinnedKeyVerifier, StoreBounds, UnknownStatus,
    WebPkiVerifier,
};

use crate::error::ProgramError;
use crate::files::in_time;
use crate::pem;
use crate::setting::SettingFile;

/// Makes a verifier that trusts the roots of a PEM file.
///
/// # Errors
/// Returns an error if the file can't be read, or a certificate in it can't be a root.
pub fn roots(file: SettingFile<'_>) -> Result<WebPkiVerifier, ProgramError> {
    roots_of(file, &pem::certificates(file)?)
}

/// Makes a verifier that trusts these roots, which were read from a file.
///
/// # Errors
/// Returns an error if a certificate can't be a root.
pub fn roots_of(
    file: SettingFile<'_>,
    certificates: &[Vec<u8>],
) -> Result<WebPkiVerifier, ProgramError> {
    WebPkiVerifier::new(certificates).map_err(|error| {
        let setting = file.setting;
        ProgramError::in_file(file.path, format_args!("{error}; check the path after {setting}"))
    })
}

/// Returns when the first of the certificates of a PEM file expires, in seconds since the Unix epoch.
///
/// # Errors
/// Returns an error if the file can't be read.
pub fn first_end(file: SettingFile<'_>) -> Result<Option<u64>, ProgramError> {
    let certificates = pem::certificates(file)?;
    Ok(certificates.iter().filter_map(|certificate| tessera_webpki::expires_at(certificate)).min())
}

/// Makes a verifier that trusts the roots of a PEM file, and checks revocation lists (PEM): for every
/// certificate of a peer's path, a current list must show that it isn't revoked. A list past its nextUpdate
/// doesn't count, and peers that depend on it are refused.
///
/// # Errors
/// Returns an error if a file can't be read, a certificate can't be a root, or a list can't be read, or is in
/// a root's name and not signed by it. The error names the file.
pub fn roots_and_revocation_lists(
    file: SettingFile<'_>,
    lists: &[SettingFile<'_>],
) -> Result<WebPkiVerifier, ProgramError> {
    let roots = pem::certificates(file)?;
    if lists.is_empty() {
        return roots_of(file, &roots);
    }
    let mut all = Vec::new();
    for list in lists {
        let of_file = pem::revocation_lists(*list)?;
        // Separately, so that the error names this file.
        with_lists(file, &roots, list.path, &of_file)?;
        all.extend(of_file);
    }
    with_lists(file, &roots, file.path, &all)
}

fn with_lists(
    file: SettingFile<'_>,
    roots: &[Vec<u8>],
    path: &Path,
    lists: &[Vec<u8>],
) -> Result<WebPkiVerifier, ProgramError> {
    let verifier = roots_of(file, roots)?.with_crls(lists, UnknownStatus::Reject);
    verifier.map_err(|error| ProgramError::in_file(path, error))
}

/// Makes a verifier that trusts the operating system's roots; `otherwise` is the setting that names others.
///
/// # Errors
/// Returns an error if the system has no roots.
pub fn system(otherwise: &str) -> Result<WebPkiVerifier, ProgramError> {
    in_time(tessera_tokio::system_verifier).map_err(|error| {
        ProgramError::settings(format!(
            "the system's trust store: {error}; install it (the package ca-certificates), or name \
             roots with {otherwise}"
        ))
    })
}

/// Wraps a verifier so that it recognises chains it accepted before. All verifiers of a process share one
/// store, of the default size, so that known chains survive a reload that doesn't change trust.
///
/// # Errors
/// Returns an error if the provider has no SHA-256, or no randomness.
pub fn remembering(verifier: WebPkiVerifier) -> Result<KnownChains, ProgramError> {
    static STORE: OnceLock<ChainStore> = OnceLock::new();
    let store = match STORE.get() {
        Some(store) => store,
        None => {
            let made = ChainStore::new(&tessera_aws_lc::provider(), StoreBounds::default());
            let made = made.map_err(|error| ProgramError::settings(error.to_string()))?;
            STORE.get_or_init(|| made)
        }
    };
    Ok(KnownChains::new(verifier, store))
}

/// Returns the peer's certificate or public key (DER), for verifiers that inspect it and wrap one that may
/// know a chain only by its hash.
///
/// # Errors
/// Returns an error if the chain isn't present, with the alert and the reason.
pub fn end_entity(question: &VerifyPeer) -> Result<&[u8], PeerRejected> {
    let reject = |alert, reason: &str| PeerRejected { alert, reason: reason.to_owned() };
    if question.known.is_some() {
        let reason = "the certificates themselves are needed here, and the peer only names them: \
                      connect again, and have them sent";
        return Err(reject(AlertDescription::BAD_CERTIFICATE, reason));
    }
    let first = question.chain.first().map(Vec::as_slice);
    first.ok_or_else(|| reject(AlertDescription::DECODE_ERROR, "no certificate"))
}

/// Makes a verifier that accepts the raw public keys (RFC 7250) of a PEM file, all for the peer of this name.
///
/// # Errors
/// Returns an error if the file can't be read, or if a key in it or the name is invalid.
pub fn raw_public_keys(
    file: SettingFile<'_>,
    name: &str,
) -> Result<PinnedKeyVerifier, ProgramError> {
    let keys = pem::public_keys(file)?;
    let keys = keys.into_iter().map(|public_key| PinnedKey { public_key, name: name.to_owned() });
    PinnedKeyVerifier::new(keys.collect()).map_err(|error| ProgramError::in_file(file.path, error))
}
