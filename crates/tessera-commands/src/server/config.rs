//! The engine's configuration.

use std::sync::Arc;

use tessera::auth::PeerVerifier;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::{Carrier, OneTimeKeyGuard, ReplayGuard};
use tessera::wire::TicketRequest;
use tessera::{Role, ServerConfig};
use tessera_kit::key_log::KeyLogFile;
use tessera_kit::{ProgramError, SettingFile, names, trust};

use super::http;
use super::stores::Stores;
use crate::by_option::by_option;
use crate::certificate::{self, GeneratedCertificate};
use crate::options::{Answer, ClientCertificates, ServeOptions};
use crate::{kems, known_key, psk};

/// A configuration, and the certificate made for it.
pub(super) struct ConfiguredServer {
    pub(super) config: Checked<ServerConfig>,
    /// Without what came from files that may change.
    pub(super) lasting: ServerConfig,
    pub(super) fresh: Option<GeneratedCertificate>,
}

/// Rebuilds the configuration from the present files. A certificate made by this program stays.
pub(super) fn configure_again(
    options: &ServeOptions,
    lasting: &ServerConfig,
) -> Result<Checked<ServerConfig>, ProgramError> {
    let mut config = lasting.clone();
    load_files(options, &mut config)?;
    config.checked().map_err(by_option)
}

/// Loads what may change while the server runs.
fn load_files(options: &ServeOptions, config: &mut ServerConfig) -> Result<(), ProgramError> {
    let common = &options.common;
    let carrier = if options.udp { Carrier::DATAGRAM } else { Carrier::STREAM };
    config.external_psks = psk::load(&common.psks, carrier)?;
    if let Some(own) = certificate::load(common, Role::Server)? {
        config.credentials = vec![own];
    }
    config.credentials.extend(known_key::of_server(&common.known_keys)?);
    config.client_authentication = client_authentication(options)?;
    Ok(())
}

pub(super) fn configure(
    options: &ServeOptions,
    stores: &Stores,
) -> Result<ConfiguredServer, ProgramError> {
    let common = &options.common;
    let fresh = match &common.certificates {
        None if !options.uses_psks_alone() => {
            let state = options.state.as_deref();
            Some(certificate::make(&options.names, options.listen.ip(), state)?)
        }
        _ => None,
    };
    let credentials = fresh.iter().map(|made| made.credential.clone()).collect();
    let mut config = ServerConfig::new(names::provider(&common.groups), credentials);
    if !common.suites.is_empty() {
        config.suites.clone_from(&common.suites);
    }
    if !common.groups.is_empty() {
        config.groups.clone_from(&common.groups);
    }
    config.protocols = common.protocols.iter().map(|name| name.clone().into_bytes()).collect();
    if options.answer == Answer::Http && config.protocols.is_empty() {
        config.protocols = http::PROTOCOLS.iter().map(|name| name.to_vec()).collect();
    }
    config.certificate_codecs = tessera_compression::codecs();
    if let Some(certificates) = &stores.certificates {
        config.certificate_codecs.insert(0, certificates.cache());
    }
    config.record_size_limit = common.record_size_limit;
    config.handshake_timeout = options.handshake_timeout;
    if let Some(path) = &common.key_log {
        let file = SettingFile { setting: "--key-log", path };
        config.key_log = Some(Arc::new(KeyLogFile::open(file)?));
    }

    let tickets = options.tickets;
    if tickets.count > 0 {
        config.tickets = Some(stores.ring.clone());
        config.ticket_lifetime = tickets.lifetime;
    }
    let policy = &mut config.policy;
    policy.tickets = TicketRequest { new_session_count: tickets.count, resumption_count: 1 };
    policy.psk_only_without_forward_secrecy = common.psk_only_without_forward_secrecy;
    if common.early_data.forward_secret {
        policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(stores.vault.clone()));
    }
    if common.early_data.replayable_without_forward_secrecy {
        policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
            register: stores.register.clone(),
            max_early_data_size: MAX_REPLAYABLE_EARLY_DATA,
        });
    }
    let lasting = config.clone();
    load_files(options, &mut config)?;
    Ok(ConfiguredServer { config: config.checked().map_err(by_option)?, lasting, fresh })
}

fn client_authentication(options: &ServeOptions) -> Result<ClientAuthentication, ProgramError> {
    let option = match options.client_certificates {
        ClientCertificates::No if !options.revocation_lists.is_empty() => {
            return Err(ProgramError::settings(
                "--crl is for clients' certificates: add --ca, and --ask-client-certificate or \
                 --require-client-certificate",
            ));
        }
        ClientCertificates::No if options.common.ca.is_some() => {
            return Err(ProgramError::settings(
                "--ca verifies clients' certificates: add --ask-client-certificate or \
                 --require-client-certificate",
            ));
        }
        ClientCertificates::No => return Ok(ClientAuthentication::None),
        ClientCertificates::Ask => "--ask-client-certificate",
        ClientCertificates::Require => "--require-client-certificate",
    };
    let Some(ca) = &options.common.ca else {
        return Err(ProgramError::settings(format!(
            "{option} needs --ca FILE: the roots that verify clients"
        )));
    };
    let lists: Vec<_> = options
        .revocation_lists
        .iter()
        .map(|path| SettingFile { setting: "--crl", path })
        .collect();
    let roots = SettingFile { setting: "--ca", path: ca };
    let verifier = trust::roots_and_revocation_lists(roots, &lists)?;
    let verifier = kems::accepted(options.common.kem_auth, verifier)?;
    let verifier: Arc<dyn PeerVerifier> = Arc::new(trust::remembering(verifier)?);
    Ok(match options.client_certificates {
        ClientCertificates::Require => ClientAuthentication::Required(verifier),
        _ => ClientAuthentication::Optional(verifier),
    })
}

/// As much as for forward-secret early data.
const MAX_REPLAYABLE_EARLY_DATA: u32 = 16 * 1024;
