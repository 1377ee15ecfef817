//! Both ends of a connection, with real cryptography, certificates, and the embedded ring and vault, and what it costs
//! either side's engine.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tessera::crypto::{KeyForm, StackDepth};
use tessera::handshake::Checked;
use tessera::resume::{ClientSession, OneTimeKeyGuard, ReplayGuard};
use tessera::wire::NamedGroup;
use tessera::{
    ClientConfig, ClientConnection, Destination, Event, Output, ReadEvent, ServerConfig,
    ServerConnection,
};
use tessera_aws_lc::{FillStep, KeyCounts, KeysAhead};
use tessera_harness::{OneRegister, at};
use tessera_interop::{Pki, SERVER_NAME};
use tessera_vault::{Limits, MemoryVault, TicketKey, TicketKeyRing};

use crate::certificates;
use crate::cost::{Cost, End, Meter, Timer};
use crate::ways::{Kind, Way};

/// The request of each connection.
pub const REQUEST: &[u8] = b"hello";

/// The authority of all scenes.
pub(crate) fn pki() -> &'static Pki {
    static PKI: OnceLock<Pki> = OnceLock::new();
    PKI.get_or_init(Pki::new)
}

/// A client and a server of one way.
pub struct Scene {
    way: &'static Way,
    client: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    ahead: Option<KeysAhead>,
}

impl Scene {
    /// Creates the scene of a way, with the provider's stack depth or another.
    pub fn new(way: &'static Way, stack_depth: Option<StackDepth>) -> Self {
        Self::with_configs(way, stack_depth, |client| client, |server| server)
    }

    /// Creates it with what these functions make of both ends' configurations.
    pub(crate) fn with_configs(
        way: &'static Way,
        stack_depth: Option<StackDepth>,
        of_client: impl FnOnce(ClientConfig) -> ClientConfig,
        of_server: impl FnOnce(ServerConfig) -> ServerConfig,
    ) -> Self {
        let (mut provider, ahead) = tessera_aws_lc::provider_with_keys_ahead();
        if !way.ahead {
            provider = tessera_aws_lc::provider();
        }
        provider.stack_depth = stack_depth.unwrap_or(provider.stack_depth);
        let mut client = ClientConfig::new(provider, pki().verifier());
        let mut server = ServerConfig::new(provider, vec![certificates::of_server(way, pki())]);
        client.groups = vec![way.group];
        server.groups = vec![way.group];
        client.policy.tickets.new_session_count = 1;
        let unix = at(0).unix.unwrap_or_default();
        let day = Duration::from_secs(24 * 3600);
        let ring = TicketKeyRing::new(&provider);
        let key = TicketKey::generate(&provider, unix, day, day).expect("random bytes");
        ring.add(key, unix).expect("a good key");
        server.tickets = Some(Arc::new(ring));
        certificates::configure(way, pki(), &provider, &mut client, &mut server);
        match way.kind {
            Kind::Full | Kind::Mutual | Kind::Resumed => (),
            Kind::Replayable => {
                let register = Arc::new(OneRegister::default());
                let guard = ReplayGuard { register, max_early_data_size: 1024 };
                server.policy.early_data.replayable_without_forward_secrecy = Some(guard);
                client.policy.early_data.replayable_without_forward_secrecy = true;
            }
            Kind::PskOnly => {
                client.policy.psk_only_without_forward_secrecy = true;
                server.policy.psk_only_without_forward_secrecy = true;
            }
            Kind::ForwardSecret(kind, continuation) => {
                let early_data = &mut client.policy.early_data;
                early_data.forward_secret = Some(continuation);
                early_data.one_time_psks_forward_secret_only_if_deleted =
                    kind == NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED;
                let mut limits = Limits::new(100_000);
                if way.form == KeyForm::Seed {
                    limits.expanded_bytes = 0;
                }
                let mut guard = OneTimeKeyGuard::new(Arc::new(MemoryVault::with_limits(limits)));
                guard.kinds = vec![kind];
                guard.continuation = continuation;
                server.policy.early_data.forward_secret = Some(guard);
            }
        }
        let (client, server) = (of_client(client).checked(), of_server(server).checked());
        let (client, server) = (client.expect("works"), server.expect("works"));
        Self { way, client, server, ahead: way.ahead.then_some(ahead) }
    }

    /// Returns the average cost of a connection; each resumes the one before.
    pub fn round(&self, handshakes: usize) -> Cost {
        let mut timer = Timer::new();
        let mut ahead = Duration::ZERO;
        let mut session = self.first(&mut timer);
        timer.cost = Cost::default();
        for _ in 0..handshakes {
            ahead += timer.time(|| self.make_ahead()).0;
            session = self.connect_again(session, &mut timer);
        }
        Cost { ahead, ..timer.cost }.per_connection(handshakes)
    }

    /// Makes a full handshake; returns what the next connection resumes.
    pub fn first(&self, meter: &mut impl Meter) -> Option<ClientSession> {
        self.connect(None, false, meter)
    }

    /// Makes a connection of the scene's kind; returns what the next one resumes. Key pairs are made ahead unmeasured.
    ///
    /// # Panics
    /// If the handshake is of another kind.
    pub fn next(
        &self,
        session: Option<ClientSession>,
        meter: &mut impl Meter,
    ) -> Option<ClientSession> {
        self.make_ahead();
        self.connect_again(session, meter)
    }

    fn connect_again(
        &self,
        session: Option<ClientSession>,
        meter: &mut impl Meter,
    ) -> Option<ClientSession> {
        assert!(session.is_some(), "there is a ticket");
        let is_full = matches!(self.way.kind, Kind::Full | Kind::Mutual);
        self.connect(session.filter(|_| !is_full), true, meter)
    }

    /// Makes the key pairs that a connection takes, of both ends.
    fn make_ahead(&self) {
        let Some(ahead) = self.ahead else { return };
        // One at each end.
        let mut counts = KeyCounts::of_client(2);
        counts.ml_kem_768 = usize::from(self.way.group == NamedGroup::X25519MLKEM768);
        match self.way.kind {
            Kind::ForwardSecret(NamedGroup::X25519, _) => counts.one_time_x25519 = 1,
            Kind::ForwardSecret(..) => counts.one_time_x25519_ml_kem_768 = 1,
            _ => (),
        }
        while ahead.fill(counts) == FillStep::Made {}
        assert_eq!(ahead.counts(), counts, "the pool is full");
    }

    /// `knows_chains`: both ends have seen each other's certificates, and may have cached them.
    fn connect(
        &self,
        session: Option<ClientSession>,
        knows_chains: bool,
        meter: &mut impl Meter,
    ) -> Option<ClientSession> {
        let resumes = session.is_some();
        let destination = Destination {
            server_name: SERVER_NAME.into(),
            session: session.map(Box::new),
            ..Destination::default()
        };
        let (mut to_server, mut to_client) = (Output::new(), Output::new());
        // Every connection brings one request: early if possible, otherwise after the handshake.
        let mut request = Some(REQUEST);
        let mut client = meter.run(End::Client, || {
            let config = self.client.clone();
            let client = ClientConnection::start(config, destination, at(0), &mut to_server);
            let mut client = client.expect("starts");
            if client.early_data_room() > 0 {
                let written = client.write_early_data(REQUEST, &mut to_server);
                assert_eq!(written.expect("takes early data"), REQUEST.len());
                request = None;
            }
            client
        });
        let is_early = request.is_none();
        let mut server =
            meter.run(End::Server, || ServerConnection::start(self.server.clone(), at(0)));
        let mut received = 0;
        let mut session = None;
        while !to_server.is_empty() || !to_client.is_empty() {
            let mut input = to_server.as_slice().to_vec();
            to_server.consume(input.len());
            received +=
                meter.run(End::Server, || server_reads(&mut server, &mut input, &mut to_client));
            let mut input = to_client.as_slice().to_vec();
            to_client.consume(input.len());
            meter.run(End::Client, || {
                let new = client_reads(&mut client, &mut input, &mut to_server);
                session = new.or(session.take());
                if let Some(request) = request.take_if(|_| client.facts().handshake_complete) {
                    client.write(request, &mut to_server).expect("takes data");
                }
            });
        }
        assert_eq!(received, REQUEST.len(), "the request is there");
        let facts = server.facts();
        assert!(client.facts().handshake_complete && facts.handshake_complete);
        assert_eq!(facts.psk.is_some(), resumes, "the handshake is of its way");
        let (one_time_key, is_early_data) = match self.way.kind {
            Kind::ForwardSecret(kind, _) if resumes => (Some(kind), true),
            kind => (None, kind == Kind::Replayable && resumes),
        };
        assert_eq!(facts.one_time_key, one_time_key, "the handshake is of its way");
        assert_eq!(is_early, is_early_data, "the handshake is of its way");
        assert_eq!(
            facts.peer.is_some(),
            self.way.kind == Kind::Mutual,
            "the handshake is of its way"
        );
        if knows_chains {
            self.way.certificates.check(facts);
        }
        // Dropping them takes time too.
        meter.run(End::Server, || drop(server));
        meter.run(End::Client, || drop(client));
        session
    }
}

/// Returns how many bytes of the request came.
#[inline(never)]
fn server_reads(server: &mut ServerConnection, input: &mut [u8], output: &mut Output) -> usize {
    let (mut consumed, mut received) = (0, 0);
    loop {
        let progress = server.read(at(0), &mut input[consumed..], output).expect("reads");
        consumed += progress.consumed;
        match progress.event {
            ReadEvent::NeedInput => return received,
            ReadEvent::EarlyData(data) | ReadEvent::Data(data) => received += data.len(),
            _ => (),
        }
    }
}

fn client_reads(
    client: &mut ClientConnection,
    input: &mut [u8],
    output: &mut Output,
) -> Option<ClientSession> {
    let mut consumed = 0;
    let mut session = None;
    loop {
        let progress = client.read(at(0), &mut input[consumed..], output).expect("reads");
        consumed += progress.consumed;
        match progress.event {
            ReadEvent::NeedInput => return session,
            ReadEvent::Handshake(Event::NewSession(new)) => session = Some(*new),
            _ => (),
        }
    }
}
