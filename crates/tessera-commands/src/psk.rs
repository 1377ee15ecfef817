//! Keys that were agreed outside of TLS.

use std::fs;
use std::path::Path;

use tessera::resume::{Carrier, ExternalPsk, ImportablePsk};
use tessera::wire::CipherSuite;
use tessera_kit::{ProgramError, SettingFile};
use zeroize::Zeroizing;

use crate::by_option::by_option;
use crate::named_key::NamedKey;
use crate::options::{PskHash, PskOptions};

/// All PSKs that were asked for, ready for use.
pub(crate) fn load(options: &PskOptions) -> Result<Vec<ExternalPsk>, ProgramError> {
    let mut keys = options.keys.clone();
    for file in &options.files {
        for (line, key) in read(file)? {
            // The first one would be used, and the other never.
            if keys.iter().any(|known| known.identity == key.identity) {
                let again = "the identity of another PSK; name each once";
                return Err(ProgramError::in_line(file, line, again));
            }
            keys.push(key);
        }
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
        imported.extend(importable.import(&provider, Carrier::STREAM).map_err(by_option)?);
    }
    Ok(imported)
}

/// A file of keys, each with the number of its line: one a line; empty lines and those that begin with # are
/// skipped.
fn read(path: &Path) -> Result<Vec<(usize, NamedKey)>, ProgramError> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|error| {
        ProgramError::input(SettingFile { setting: "--psk-file", path }, &error)
    })?;
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let keys: Result<Vec<_>, _> = lines
        .map(|(index, line)| {
            let number = index + 1;
            let key = NamedKey::parse(line);
            Ok((number, key.map_err(|error| ProgramError::in_line(path, number, error))?))
        })
        .collect();
    match keys {
        Ok(keys) if keys.is_empty() => {
            Err(ProgramError::in_file(path, "no PSK in it; write one a line, as IDENTITY:HEX"))
        }
        other => other,
    }
}
