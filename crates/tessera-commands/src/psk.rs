//! Keys agreed outside of TLS.

use tessera::resume::{Carrier, ExternalPsk, ImportablePsk};
use tessera::wire::CipherSuite;
use tessera_kit::psk::{self, NamedKey};
use tessera_kit::{ProgramError, SettingFile};

use crate::by_option::by_option;
use crate::options::{PskHash, PskOptions};

/// Loads all PSKs of the options, ready for use. Imported ones are valid over this carrier alone.
pub(crate) fn load(
    options: &PskOptions,
    carrier: Carrier,
) -> Result<Vec<ExternalPsk>, ProgramError> {
    let mut keys = options.keys.clone();
    for path in &options.files {
        psk::read_into(&mut keys, SettingFile { setting: "--psk-file", path })?;
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
        imported.extend(importable.import(&provider, carrier).map_err(by_option)?);
    }
    Ok(imported)
}
