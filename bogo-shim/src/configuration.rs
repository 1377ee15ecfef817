//! Converts flags to configurations.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera::crypto::Provider;
use tessera::handshake::{
    Checked, ChooseConfig, ClientAuthentication, ConfigChooser, NoConfig, Reply,
};
use tessera::resume::{
    AlreadyUsed, Carrier, ExternalPsk, OpenTicket, ReplayGuard, SessionState, SingleUseRegister,
    TicketKeys,
};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{ClientConfig, ServerConfig};
use tessera_vault::{TicketKey, TicketKeyRing};

use crate::codecs;
use crate::credentials::Credentials;
use crate::options::{Compliance, Options};
use crate::peer::AnyChain;
use crate::traffic_secrets::TrafficSecrets;

/// State shared by the connections of a test.
pub struct Shared {
    pub ring: Arc<TicketKeyRing>,
    register: Arc<Register>,
}

impl Shared {
    /// Creates it with one ticket key from `start` on.
    pub fn new(start: Duration) -> Result<Self, String> {
        let provider = provider();
        let ring = TicketKeyRing::new(&provider);
        let week = Duration::from_secs(7 * 24 * 3600);
        let key =
            TicketKey::generate(&provider, start, week, week).map_err(|e| format!("{e:?}"))?;
        ring.add(key, start).map_err(|e| format!("{e:?}"))?;
        Ok(Self { ring: Arc::new(ring), register: Arc::default() })
    }
}

pub fn client(
    options: &Options,
    credentials: &Credentials,
    verifier: AnyChain,
) -> Result<ClientConfig, String> {
    let mut config = ClientConfig::new(provider(), Arc::new(verifier));
    config.handshake_timeout = Duration::MAX;
    suites(options, &mut config.suites);
    groups(options, &mut config.groups);
    if options.dtls && options.curves.is_empty() && options.compliance.is_none() {
        // The runner asks for one by HelloRetryRequest, and counts on being spared that.
        config.groups.retain(|group| !group.is_post_quantum());
    }
    config.protocols = options.advertise_alpn.clone();
    config.certificate_codecs = codecs::installed(options);
    config.grease = options.grease;
    config.credentials = credentials.for_engine(options);
    config.policy.early_data.replayable_without_forward_secrecy = has_early_data(options);
    config.policy.resumption = !options.no_ticket;
    Ok(config)
}

/// Returns a server's configuration, and the chooser in it, which also gets the first ClientHello.
pub fn server(
    options: &Options,
    credentials: &Credentials,
    shared: &Shared,
    secrets: Arc<TrafficSecrets>,
) -> Result<(ServerConfig, Arc<Chooser>), String> {
    let mut config = ServerConfig::new(provider(), credentials.for_engine(options));
    config.handshake_timeout = Duration::MAX;
    suites(options, &mut config.suites);
    groups(options, &mut config.groups);
    config.protocols = match &options.select_alpn {
        _ if options.reject_alpn => vec![b"a protocol of no one".to_vec()],
        Some(protocol) => vec![protocol.clone()],
        None => Vec::new(),
    };
    config.certificate_codecs = codecs::installed(options);
    config.grease = true;
    config.external_psks = external_psks(options, credentials)?;
    config.tickets = (!options.no_ticket).then(|| {
        let ring = shared.ring.clone();
        Arc::new(Tickets { ring, later: options.is_async, skip: options.skip_ticket }) as _
    });
    // A session whose client certificate is kept in another way is not resumed.
    config.scope = vec![u8::from(options.retain_only_hash)];
    let verifier = Arc::new(AnyChain::new(options));
    config.client_authentication = if options.require_client_certificate {
        ClientAuthentication::Required(verifier)
    } else if options.verify_peer {
        ClientAuthentication::Optional(verifier)
    } else {
        ClientAuthentication::None
    };
    if has_early_data(options) {
        config.policy.early_data.replayable_without_forward_secrecy =
            Some(ReplayGuard { register: shared.register.clone(), max_early_data_size: 14_336 });
    }
    config.key_log = Some(secrets);
    let chooser = Arc::new(Chooser {
        config: config.clone().checked().map_err(|error| error.to_string())?,
        later: options.is_async,
        protocols: options.expect_advertised_alpn.clone(),
        schemes: options.expect_peer_verify_prefs.clone(),
        refuses: options.use_ocsp_callback && options.fail_ocsp_callback,
    });
    config.chooser = Some(chooser.clone());
    Ok((config, chooser))
}

/// Returns the PSKs of both hashes for each of the importable ones.
pub fn external_psks(
    options: &Options,
    credentials: &Credentials,
) -> Result<Vec<ExternalPsk>, String> {
    let provider = provider();
    let carrier = if options.dtls { Carrier::DATAGRAM } else { Carrier::STREAM };
    let imported = credentials.psks.iter().map(|(_, psk)| psk.import(&provider, carrier));
    let imported = imported.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    Ok(imported.into_iter().flatten().collect())
}

/// Returns whether there is early data: over datagrams the runner has none.
fn has_early_data(options: &Options) -> bool {
    options.enable_early_data && !options.dtls
}

pub fn provider() -> Provider {
    tessera_aws_lc::provider_with_rare_groups()
}

fn suites(options: &Options, suites: &mut Vec<CipherSuite>) {
    use CipherSuite as Suite;
    *suites = match options.compliance {
        None => return,
        Some(Compliance::Fips202205) => {
            vec![Suite::TLS_AES_128_GCM_SHA256, Suite::TLS_AES_256_GCM_SHA384]
        }
        Some(Compliance::Cnsa202407) => vec![
            Suite::TLS_AES_256_GCM_SHA384,
            Suite::TLS_AES_128_GCM_SHA256,
            Suite::TLS_CHACHA20_POLY1305_SHA256,
        ],
        Some(_) => vec![Suite::TLS_AES_256_GCM_SHA384],
    };
}

fn groups(options: &Options, groups: &mut Vec<NamedGroup>) {
    use NamedGroup as Group;
    // Without flags the groups are the defaults of clients and servers.
    *groups = tessera_aws_lc::provider().groups.iter().map(|group| group.group()).collect();
    match options.compliance {
        None | Some(Compliance::Cnsa202407) => (),
        Some(Compliance::Fips202205) => *groups = vec![Group::SECP256R1, Group::SECP384R1],
        Some(Compliance::Wpa202304) => *groups = vec![Group::SECP384R1],
        Some(Compliance::Cnsa1) => *groups = vec![Group::MLKEM1024, Group::SECP384R1],
        Some(Compliance::Cnsa2) => *groups = vec![Group::MLKEM1024],
    }
    if !options.curves.is_empty() {
        *groups = options.curves.iter().map(|group| NamedGroup(*group)).collect();
    }
}

/// Tickets of the ring, opened now or later.
struct Tickets {
    ring: Arc<TicketKeyRing>,
    later: bool,
    /// Nothing is sealed.
    skip: bool,
}

impl TicketKeys for Tickets {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        if self.skip { None } else { self.ring.seal(session, unix) }
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        if self.later { Reply::Later } else { self.ring.open(question) }
    }
}

/// Chooses the configuration of every client that offers what is expected.
pub struct Chooser {
    config: Checked<ServerConfig>,
    later: bool,
    protocols: Option<Vec<Vec<u8>>>,
    schemes: Vec<u16>,
    /// Rejects all clients: there is no OCSP response.
    refuses: bool,
}

impl Chooser {
    /// Answers a question that was deferred.
    pub fn answer(&self, question: &ChooseConfig) -> Result<Checked<ServerConfig>, NoConfig> {
        let offered: Vec<_> = question.signature_schemes.iter().map(|scheme| scheme.0).collect();
        let expected = self.protocols.as_ref().is_none_or(|listed| *listed == question.protocols)
            && (self.schemes.is_empty() || self.schemes == offered);
        if expected && !self.refuses { Ok(self.config.clone()) } else { Err(NoConfig) }
    }
}

impl ConfigChooser for Chooser {
    fn choose(&self, question: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        if self.later { Reply::Later } else { Reply::Now(self.answer(question)) }
    }
}

/// A register for the life of the process.
#[derive(Default)]
struct Register(Mutex<HashSet<[u8; 32]>>);

impl SingleUseRegister for Register {
    fn claim(
        &self,
        key: &[u8; 32],
        _: Duration,
        _: Duration,
        _: Duration,
    ) -> Result<(), AlreadyUsed> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(*key).then_some(()).ok_or(AlreadyUsed)
    }
}
