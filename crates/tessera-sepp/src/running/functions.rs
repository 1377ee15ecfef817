//! TLS on the side of own network functions.

use std::sync::Arc;

use tessera::auth::Credential;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::{ProgramError, SettingFile, credential, trust};
use tessera_tokio::{Acceptor, Connector};

use crate::config::{Configuration, Sbi};

/// What accepts network functions and connects to them; none where that is plaintext.
pub(super) struct FunctionsTls {
    pub(super) acceptor: Option<Acceptor>,
    pub(super) connector: Option<Connector>,
}

/// Configurations that were loaded, and are not in use yet.
pub(crate) struct Loaded {
    server: Option<Checked<ServerConfig>>,
    client: Option<Checked<ClientConfig>>,
}

impl Loaded {
    /// Loads what `[sbi]` names.
    ///
    /// # Errors
    /// If a file can't be read or isn't what it should be.
    pub(crate) fn load(configuration: &Configuration) -> Result<Self, ProgramError> {
        let sbi = &configuration.sbi;
        let own = sbi.certificate.is_some().then(|| own(sbi)).transpose()?;
        let handshake_timeout = configuration.limits.handshake;
        let server = match &own {
            None => None,
            Some(own) => {
                let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![own.clone()]);
                config.protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
                config.handshake_timeout = handshake_timeout;
                config.policy.resumption = false;
                if let Some(path) = &sbi.ca
                    && sbi.client_certificates != Some(false)
                {
                    let verifier = trust::roots(SettingFile { setting: CA, path })?;
                    config.client_authentication =
                        ClientAuthentication::Required(Arc::new(verifier));
                }
                Some(config.checked()?)
            }
        };
        let client = match &sbi.ca {
            None => None,
            Some(path) => {
                let verifier = Arc::new(trust::roots(SettingFile { setting: CA, path })?);
                let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
                config.protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
                config.credentials = own.into_iter().collect();
                config.handshake_timeout = handshake_timeout;
                config.policy.resumption = false;
                Some(config.checked()?)
            }
        };
        Ok(Self { server, client })
    }

    /// For the start.
    pub(super) fn into_use(self) -> FunctionsTls {
        let Self { server, client } = self;
        FunctionsTls { acceptor: server.map(Acceptor::new), connector: client.map(Connector::new) }
    }
}

impl FunctionsTls {
    /// Connections that begin from now on have these.
    pub(super) fn exchange(&self, loaded: Loaded) {
        if let (Some(acceptor), Some(config)) = (&self.acceptor, loaded.server) {
            acceptor.replace(config);
        }
        if let (Some(connector), Some(config)) = (&self.connector, loaded.client) {
            connector.replace(config);
        }
    }
}

fn own(sbi: &Sbi) -> Result<Credential, ProgramError> {
    let Some(path) = &sbi.certificate else {
        return Err(ProgramError::settings("[sbi] certificate: there is none"));
    };
    let certificate = SettingFile { setting: "[sbi] certificate", path };
    let key = SettingFile { setting: "[sbi] key", path: sbi.key.as_ref().unwrap_or(path) };
    let own = credential::load(certificate, key)?;
    if let Some(domain) = &sbi.telescopic_domain {
        let leaf = own.chain.first().map(Vec::as_slice).unwrap_or_default();
        let names = tessera_webpki::dns_names(leaf)
            .map_err(|error| ProgramError::in_file(path, error.to_string()))?;
        let wanted = format!("*.{domain}");
        if !names.iter().any(|name| name.eq_ignore_ascii_case(&wanted)) {
            return Err(ProgramError::in_file(
                path,
                format_args!(
                    "the first certificate has no {wanted} among its names, which telescopic names need ([sbi] \
                     telescopic-domain); it has {names:?}"
                ),
            ));
        }
    }
    Ok(own)
}

const CA: &str = "[sbi] ca";

/// As ALPN names them.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
