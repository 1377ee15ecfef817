//! The signers that hold this proxy's private key.

use std::sync::Arc;

use tessera::ClientConfig;
use tessera::handshake::Checked;
use tessera_kit::live::LiveTarget;
use tessera_kit::{ProgramError, SettingFile, credential, trust};
use tessera_signer::{RemoteKey, RemoteSigner, SignerAddress, SignerLimits, client_config};
use tessera_tokio::{Answers, Connector, MemorySessionStore};

use crate::config::{ProxySection, SignerSection};

/// What asks the signers, and what reloads change of it.
pub(crate) struct ProxySigner {
    pub(crate) remote: Arc<RemoteSigner>,
    pub(crate) connector: LiveTarget<Connector>,
}

impl ProxySigner {
    /// Starts connecting to the signers, if there are any. Answers what isn't a signature as `others` do.
    pub(crate) fn open(
        section: &ProxySection,
        others: Option<Arc<dyn Answers>>,
    ) -> Result<Option<Self>, ProgramError> {
        let (Some(signer), Some(key)) = (&section.signer, key(section)?) else { return Ok(None) };
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = Connector::new(tls(signer)?).with_sessions(sessions);
        let servers = signer.servers.iter().map(|server| SignerAddress::new(server));
        let servers = servers.collect::<Result<_, _>>();
        let servers =
            servers.map_err(|error| ProgramError::settings(format!("[proxy] signer: {error}")))?;
        let mut remote = RemoteSigner::open(&connector, servers, SignerLimits::default());
        if let Some(others) = others {
            remote = remote.with_others(others);
        }
        remote.add(&key);
        Ok(Some(Self { remote: Arc::new(remote), connector: LiveTarget::new(connector) }))
    }
}

/// Returns the key that the signers hold, as the proxy's certificate shows it; `None` if the key is here.
pub(crate) fn key(section: &ProxySection) -> Result<Option<RemoteKey>, ProgramError> {
    let Some(signer) = &section.signer else { return Ok(None) };
    let file = SettingFile { setting: "[proxy] certificate", path: &section.certificate };
    let key = RemoteKey::new(credential::chain(file)?, &signer.name);
    let key = key.map_err(|error| ProgramError::settings(format!("[proxy] signer: {error}")))?;
    Ok(Some(key))
}

/// Returns the configuration for the signers.
pub(crate) fn tls(section: &SignerSection) -> Result<Checked<ClientConfig>, ProgramError> {
    let ca = SettingFile { setting: "[proxy] signer.ca", path: &section.ca };
    let verifier = Arc::new(trust::remembering(trust::roots(ca)?)?);
    let own = credential::load(
        SettingFile { setting: "[proxy] signer.certificate", path: &section.certificate },
        SettingFile {
            setting: "[proxy] signer.key",
            path: section.key.as_ref().unwrap_or(&section.certificate),
        },
    )?;
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
    config.credentials = vec![own];
    Ok(client_config(config)?)
}
