//! The engine's configuration.

use std::path::Path;
use std::sync::Arc;

use tessera::handshake::Checked;
use tessera::resume::{Carrier, Continuation, ExternalPsk, KnownServerKey};
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, Destination, Role};
use tessera_kit::cached_certificates::KeptServers;
use tessera_kit::credential::fingerprint;
use tessera_kit::key_log::KeyLogFile;
use tessera_kit::{ProgramError, SettingFile, names};

use crate::by_option::by_option;
use crate::certificate;
use crate::options::{ConnectOptions, LoadMode};
use crate::trust::{self, Trust};
use crate::{known_key, psk};

/// A configuration, and the stores that belong to it.
pub(super) struct ConfiguredClient {
    pub(super) config: Checked<ClientConfig>,
    server_name: String,
    port: u16,
    external_psks: Vec<ExternalPsk>,
    known_server_key: Option<Box<KnownServerKey>>,
    /// Identifies everything that sessions must not cross.
    pub(super) scope: String,
    /// Cached certificates of servers; saved after the last handshake.
    pub(super) certificates: Option<KeptServers>,
}

impl ConfiguredClient {
    /// Returns the destination that sessions are stored under.
    pub(super) fn destination(&self) -> Destination {
        Destination {
            server_name: self.server_name.clone(),
            port: Some(self.port),
            external_psks: self.external_psks.clone(),
            known_server_key: self.known_server_key.clone(),
            ..Destination::default()
        }
    }
}

pub(super) fn configure(options: &ConnectOptions) -> Result<ConfiguredClient, ProgramError> {
    let common = &options.common;
    let Trust { verifier, name } = trust::of_servers(options)?;
    let carrier = if options.udp { Carrier::DATAGRAM } else { Carrier::STREAM };
    let external_psks = psk::load(&common.psks, carrier)?;
    let server_name = options.server_name.clone().unwrap_or_else(|| options.host.clone());
    let known_server_key = known_key::of_client(&common.known_keys, &server_name)?;
    let mut config = ClientConfig::new(names::provider(&common.groups), verifier);
    config.certificate_codecs = tessera_compression::codecs();
    let mut scope = format!("{name}\n{}\n", options.port).into_bytes();
    if options.udp {
        // A session resumes over its own carrier alone.
        scope.extend_from_slice(b"udp\n");
    }
    for psk in &external_psks {
        scope.extend_from_slice(fingerprint(&psk.identity).as_bytes());
    }
    if let Some(known) = &known_server_key {
        scope.extend_from_slice(fingerprint(known.public_key.as_bytes()).as_bytes());
    }
    if let Some(credential) = certificate::load(common, Role::Client)? {
        scope.extend(credential.chain.concat());
        config.credentials = vec![credential];
    }
    if !common.suites.is_empty() {
        config.suites.clone_from(&common.suites);
    }
    if !common.groups.is_empty() {
        config.groups.clone_from(&common.groups);
    }
    config.protocols = common.protocols.iter().map(|name| name.clone().into_bytes()).collect();
    config.record_size_limit = common.record_size_limit;
    if let Some(path) = &common.key_log {
        let file = SettingFile { setting: "--key-log", path };
        config.key_log = Some(Arc::new(KeyLogFile::open(file)?));
    }

    let mode = options.load.map(|load| load.mode);
    let policy = &mut config.policy;
    policy.tickets = TicketRequest { new_session_count: options.tickets, resumption_count: 1 };
    policy.psk_only_without_forward_secrecy =
        common.psk_only_without_forward_secrecy || mode == Some(LoadMode::PskOnly);
    let forward_secret = common.early_data.forward_secret || mode == Some(LoadMode::ZeroRttFs);
    policy.early_data.forward_secret = forward_secret.then_some(Continuation::PskDheKe);
    policy.early_data.replayable_without_forward_secrecy =
        common.early_data.replayable_without_forward_secrecy || mode == Some(LoadMode::ZeroRtt);
    if mode == Some(LoadMode::Full) {
        policy.resumption = false;
        policy.tickets = TicketRequest { new_session_count: 0, resumption_count: 0 };
    }
    let scope = fingerprint(&scope);
    let certificates = match common.certificates_directory() {
        // A ticket also vouches for the client's own certificate, so each certificate has its own cache.
        Some(directory) => {
            let at_a_time = options.load.map_or(1, |load| load.parallel.min(load.count));
            let (below, provider) = (Path::new(&scope), tessera_aws_lc::provider());
            Some(KeptServers::open(directory, below, &provider, at_a_time)?)
        }
        None => None,
    };
    if let Some(certificates) = &certificates {
        config.certificate_codecs.insert(0, certificates.cache());
    }
    Ok(ConfiguredClient {
        config: config.checked().map_err(by_option)?,
        server_name,
        port: options.port,
        external_psks,
        known_server_key,
        scope,
        certificates,
    })
}
