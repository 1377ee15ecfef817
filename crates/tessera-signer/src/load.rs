//! What a configuration names: the keys, and TLS for clients.

use std::sync::Arc;

use tessera::ServerConfig;
use tessera::auth::PrivateKey;
use tessera::crypto::Signer as SigningKey;
use tessera::handshake::Checked;
use tessera_kit::{ProgramError, SettingFile, credential, pem, trust};
use tessera_tokio::Limits;

use crate::config::{self, KeySection, Signer, SignerSection};
use crate::server::{HeldKey, Keys, Rate, server_config};

/// Reads all keys.
pub(crate) fn keys(signer: &Signer) -> Result<Keys, ProgramError> {
    let mut keys = Keys::default();
    for (name, section) in &signer.key {
        let rate = Rate { per_second: section.rate, burst: section.burst() };
        keys.add(name, HeldKey::new(key(name, section)?, &section.allow, rate));
    }
    Ok(keys)
}

/// Reads a key, and checks it against its certificate.
pub(crate) fn key(name: &str, section: &KeySection) -> Result<Arc<dyn SigningKey>, ProgramError> {
    let setting = |key: &str| format!("[key.{name}] {key}");
    let (certificate_setting, key_setting) = (setting("certificate"), setting("key"));
    match (&section.certificate, &section.key) {
        (Some(certificate), key) => {
            let path = key.as_ref().unwrap_or(certificate);
            let loaded = credential::load(
                SettingFile { setting: &certificate_setting, path: certificate },
                SettingFile { setting: &key_setting, path },
            )?;
            match loaded.key {
                PrivateKey::Signs(key) => Ok(key),
                _ => Err(ProgramError::settings(format!("{key_setting}: the key can't sign here"))),
            }
        }
        (None, Some(path)) => {
            Ok(Arc::new(pem::private_key(SettingFile { setting: &key_setting, path })?))
        }
        (None, None) => Err(ProgramError::settings(format!("{key_setting}: must be set"))),
    }
}

/// Returns the configuration for clients.
pub(crate) fn tls(
    section: &SignerSection,
    limits: &config::Limits,
) -> Result<Checked<ServerConfig>, ProgramError> {
    let verifier = trust::roots(SettingFile { setting: "[signer] ca", path: &section.ca })?;
    let own = credential::load(
        SettingFile { setting: "[signer] certificate", path: &section.certificate },
        SettingFile {
            setting: "[signer] key",
            path: section.key.as_ref().unwrap_or(&section.certificate),
        },
    )?;
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![own]);
    config.handshake_timeout = limits.handshake;
    Ok(server_config(config, Arc::new(trust::remembering(verifier)?))?)
}

/// Returns the limits on connections.
pub(crate) fn limits(signer: &Signer) -> Limits {
    let section = &signer.limits;
    let mut limits = Limits::for_connections(section.connections);
    if let Some(connections) = section.connections_per_address {
        limits.connections_per_address = connections;
        limits.handshakes_per_address = connections;
    }
    limits.idle = section.idle;
    limits.drain = signer.process.drain;
    limits
}
