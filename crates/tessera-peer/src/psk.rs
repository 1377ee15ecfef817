//! Keys that were agreed outside of TLS.

use std::fs;
use std::path::Path;

use tessera::resume::{ExternalPsk, ImportablePsk};
use tessera::wire::CipherSuite;
use zeroize::Zeroizing;

use crate::error::PeerError;
use crate::hex;
use crate::options::{PskHash, PskOptions};

/// A key with its identity.
#[derive(Clone)]
pub struct NamedKey {
    identity: Vec<u8>,
    secret: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedKey").finish_non_exhaustive()
    }
}

impl NamedKey {
    /// Reads `IDENTITY:HEX`. An identity may contain colons, a key can't.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (identity, key) = text
            .rsplit_once(':')
            .ok_or("a PSK is IDENTITY:HEX, such as client1:000102030405060708090a0b0c0d0e0f")?;
        let secret = hex::decode(key).ok_or("the key, after the last colon, is not hexadecimal")?;
        if identity.is_empty() {
            return Err("the identity, before the last colon, is empty".to_owned());
        }
        // RFC 9257 §6.
        if secret.len() < 16 {
            return Err("the key is too short: 16 bytes (32 digits) or more".to_owned());
        }
        Ok(Self { identity: identity.as_bytes().to_vec(), secret })
    }
}

/// All PSKs that were asked for, ready for use.
pub(crate) fn load(options: &PskOptions) -> Result<Vec<ExternalPsk>, PeerError> {
    let mut keys = options.keys.clone();
    for file in &options.files {
        keys.extend(read(file)?);
    }
    let suite = match options.hash {
        PskHash::Sha256 => CipherSuite::TLS_AES_128_GCM_SHA256,
        PskHash::Sha384 => CipherSuite::TLS_AES_256_GCM_SHA384,
    };
    let Some(context) = &options.import else {
        let external = |key: NamedKey| ExternalPsk::new(key.identity, key.secret, suite);
        return Ok(keys.into_iter().map(external).collect());
    };
    let provider = tessera_aws_lc::provider();
    let mut imported = Vec::new();
    for key in keys {
        let importable = ImportablePsk {
            external_identity: key.identity,
            secret: key.secret,
            context: context.as_bytes().to_vec(),
            suite,
        };
        imported.extend(importable.import(&provider)?);
    }
    Ok(imported)
}

/// A file of keys: one a line; empty lines and those that begin with # are skipped.
fn read(path: &Path) -> Result<Vec<NamedKey>, PeerError> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|error| PeerError::file(path, "--psk-file", &error))?;
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let keys: Result<Vec<_>, _> = lines
        .map(|(index, line)| {
            let at =
                |error| PeerError::options(format!("{}:{}: {error}", path.display(), index + 1));
            NamedKey::parse(line).map_err(at)
        })
        .collect();
    match keys {
        Ok(keys) if keys.is_empty() => Err(PeerError::options(format!(
            "{}: no PSK in it; write one a line, as IDENTITY:HEX",
            path.display()
        ))),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names() {
        let key = NamedKey::parse("urn:client:000102030405060708090a0b0c0d0e0f").unwrap();
        assert_eq!(key.identity, b"urn:client");
        assert_eq!(key.secret.len(), 16);
        for (wrong, why) in [
            ("00010203", "IDENTITY:HEX"),
            (":000102030405060708090a0b0c0d0e0f", "empty"),
            ("client:xyz", "hexadecimal"),
            ("client:0001", "too short"),
        ] {
            assert!(NamedKey::parse(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}
