//! TLS with local network functions, in both roles (TS 33.501 §13.1.0).

use std::path::Path;
use std::sync::Arc;

use tessera::auth::Credential;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::{ProgramError, SettingFile, credential, trust};
use tessera_proxy::keys_ahead;

use crate::config::Sbi;
use crate::names::Fqdn;

/// Returns the configuration for connecting to `https` functions; `None` without `ca`.
///
/// # Errors
/// If a file can't be read or is invalid.
pub fn connector(sbi: &Sbi) -> Result<Option<Checked<ClientConfig>>, ProgramError> {
    let Some(ca) = &sbi.ca else { return Ok(None) };
    let roots = trust::roots(SettingFile { setting: "[sbi] ca", path: ca })?;
    let roots = trust::remembering(roots)?;
    let mut config = ClientConfig::new(keys_ahead::provider(&[]), Arc::new(roots));
    config.protocols = protocols();
    config.credentials = own(sbi)?.into_iter().collect();
    config.certificate_codecs = tessera_compression::codecs();
    Ok(Some(config.checked()?))
}

/// Returns whether connections that began under one of these configurations may go on under the other.
pub fn is_same(one: &Option<Checked<ClientConfig>>, other: &Option<Checked<ClientConfig>>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one.is_none() && other.is_none() };
    let own = |config: &Checked<ClientConfig>| {
        config.credentials.iter().map(|own| own.chain.clone()).collect::<Vec<_>>()
    };
    own(one) == own(other) && one.keeps_sessions_of(other)
}

/// Returns the configuration of the listener for functions; `None` without a certificate. With `ca` they must show a
/// certificate, unless that is switched off.
///
/// # Errors
/// If a file can't be read or is invalid.
pub fn listener(sbi: &Sbi) -> Result<Option<Checked<ServerConfig>>, ProgramError> {
    let Some(own) = own(sbi)? else { return Ok(None) };
    let mut config = ServerConfig::new(keys_ahead::provider(&[]), vec![own]);
    config.protocols = protocols();
    config.certificate_codecs = tessera_compression::codecs();
    if let (Some(ca), true) = (&sbi.ca, sbi.client_certificates.unwrap_or(sbi.ca.is_some())) {
        let roots = trust::roots(SettingFile { setting: "[sbi] ca", path: ca })?;
        let roots = trust::remembering(roots)?;
        config.client_authentication = ClientAuthentication::Required(Arc::new(roots));
    }
    Ok(Some(config.checked()?))
}

/// Returns when the first certificate of `[sbi] certificate` to expire does, in seconds since the Unix epoch.
///
/// # Errors
/// If the file can't be read.
pub fn expires_at(sbi: &Sbi) -> Result<Option<u64>, ProgramError> {
    let file =
        sbi.certificate.as_ref().map(|path| SettingFile { setting: "[sbi] certificate", path });
    file.map_or(Ok(None), trust::first_end)
}

fn protocols() -> Vec<Vec<u8>> {
    vec![b"h2".to_vec(), b"http/1.1".to_vec()]
}

fn own(sbi: &Sbi) -> Result<Option<Credential>, ProgramError> {
    let Some(certificate) = &sbi.certificate else { return Ok(None) };
    let key = sbi.key.as_ref().unwrap_or(certificate);
    let file = SettingFile { setting: "[sbi] certificate", path: certificate };
    let own = credential::load(file, SettingFile { setting: "[sbi] key", path: key })?;
    if let Some(domain) = &sbi.telescopic_domain {
        has_wildcard(&own, domain, certificate)?;
    }
    Ok(Some(own))
}

/// Checks for the wildcard: local functions use any name below the domain (TS 33.501 §13.1.1.2).
fn has_wildcard(own: &Credential, domain: &Fqdn, path: &Path) -> Result<(), ProgramError> {
    let leaf = own.chain.first().map(Vec::as_slice).unwrap_or_default();
    let names =
        tessera_webpki::dns_names(leaf).map_err(|error| ProgramError::in_file(path, error))?;
    let wanted = format!("*.{domain}");
    if names.iter().any(|name| name.eq_ignore_ascii_case(&wanted)) {
        return Ok(());
    }
    let what = format!(
        "the first certificate lacks the name {wanted}, which telescopic names need ([sbi] telescopic-domain); \
         it has {names:?}"
    );
    Err(ProgramError::in_file(path, what))
}
