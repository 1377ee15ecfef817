//! Builds a verifier from the configuration.

use std::collections::BTreeSet;

use tessera::Role;
use tessera::auth::PeerVerifier;
use tessera::resume::ExternalPsk;
use tessera::wire::{CertificateType, CipherSuite};
use tessera_kit::credential::fingerprint;
use tessera_kit::{ProgramError, SettingFile, hex, pem, psk, trust};
use tessera_webpki::{Algorithms, PinnedKey, PinnedKeyVerifier, WebPkiVerifier};

use super::{AllowedPeers, Chains};
use crate::config::{Anchors, Peers};

/// Returns the allowed peers of a section, such as `server.postgres`, whose role is `peer`.
///
/// # Errors
/// If a file can't be read or is malformed, or a fingerprint is invalid. The error names setting and file.
pub fn allowed(peers: &Peers, peer: Role, section: &str) -> Result<AllowedPeers, ProgramError> {
    let chains = match &peers.ca {
        None => None,
        Some(anchors) => Some(chains(peers, anchors, peer, section)?),
    };
    let fingerprints: BTreeSet<String> =
        peers.fingerprints.iter().map(|text| parse(text, section)).collect::<Result<_, _>>()?;
    let mut pinned = Vec::new();
    for path in &peers.public_keys {
        let setting = &format!("[{section}] peers.public-keys");
        let file = SettingFile { setting, path };
        let of_file = pem::public_keys(file)?.into_iter();
        let of_file: Vec<_> =
            of_file.map(|key| PinnedKey { name: fingerprint(&key), public_key: key }).collect();
        // Parse each file alone, so that the error names it.
        pinned_keys(&of_file).map_err(|error| ProgramError::in_file(path, error))?;
        pinned.extend(of_file);
    }
    let keys = match pinned.as_slice() {
        [] => None,
        pinned => Some(pinned_keys(pinned).map_err(|error| {
            ProgramError::settings(format!("[{section}] peers.public-keys: {error}"))
        })?),
    };
    let mut types = Vec::new();
    if chains.is_some() || !fingerprints.is_empty() || keys.is_none() {
        types.push(CertificateType::X509);
    }
    types.extend(keys.as_ref().map(|_| CertificateType::RAW_PUBLIC_KEY));
    let schemes = match &chains {
        Some(chains) => chains.verifier.schemes().to_vec(),
        None => Algorithms::AWS_LC.handshake.iter().map(|(scheme, _)| *scheme).collect(),
    };
    let section = format!("[{section}]");
    Ok(AllowedPeers { section, chains, fingerprints, keys, types, schemes })
}

fn pinned_keys(keys: &[PinnedKey]) -> Result<PinnedKeyVerifier, tessera_webpki::ConfigError> {
    PinnedKeyVerifier::new(keys.to_vec())
}

fn chains(
    peers: &Peers,
    anchors: &Anchors,
    peer: Role,
    section: &str,
) -> Result<Chains, ProgramError> {
    let load = || -> Result<WebPkiVerifier, ProgramError> {
        let setting = format!("[{section}] peers.ca");
        let lists = format!("[{section}] peers.crl");
        let lists: Vec<_> =
            peers.crl.iter().map(|path| SettingFile { setting: &lists, path }).collect();
        match anchors {
            Anchors::System => trust::system(&setting),
            Anchors::File(path) => {
                let file = SettingFile { setting: &setting, path };
                trust::roots_and_revocation_lists(file, &lists)
            }
        }
    };
    let by_uri = match peer {
        Role::Server if !peers.uris.is_empty() => {
            Some(trust::remembering(load()?.leaving_server_names_to_a_wrapper())?)
        }
        _ => None,
    };
    Ok(Chains {
        verifier: trust::remembering(load()?)?,
        names: peers.names.iter().map(|name| name.to_ascii_lowercase()).collect(),
        uris: peers.uris.iter().cloned().collect(),
        by_uri,
        any: peers.any_of_ca,
    })
}

/// Parses a fingerprint in hexadecimal, with or without colons; returns it in lower case.
fn parse(text: &str, section: &str) -> Result<String, ProgramError> {
    let digits = text.replace(':', "");
    match hex::decode(&digits) {
        Some(bytes) if bytes.len() == 32 => Ok(digits.to_ascii_lowercase()),
        _ => Err(ProgramError::settings(format!(
            "[{section}] peers.fingerprints: {text:?} is not the SHA-256 of a certificate, 64 hexadecimal digits; \
             openssl x509 -noout -fingerprint -sha256 -in FILE prints it"
        ))),
    }
}

/// Returns the external PSKs of a section; none if it names no file.
///
/// # Errors
/// If the file can't be read or is malformed.
pub fn psks(peers: &Peers, section: &str) -> Result<Vec<ExternalPsk>, ProgramError> {
    let Some(path) = &peers.psk_file else { return Ok(Vec::new()) };
    let setting = &format!("[{section}] peers.psk-file");
    let mut keys = Vec::new();
    psk::read_into(&mut keys, SettingFile { setting, path })?;
    // RFC 8446 §4.2.11: SHA-256 unless another hash was agreed.
    let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
    Ok(keys.into_iter().map(|key| ExternalPsk::new(key.identity, key.secret, suite)).collect())
}
