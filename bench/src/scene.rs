//! Both ends of a connection, with real cryptography, certificates, and the embedded ring and vault, and what it costs
//! either side's engine.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tessera::crypto::{KeyForm, StackDepth};
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::{ClientSession, OneTimeKeyGuard};
use tessera::wire::NamedGroup;
use tessera::{
    ClientConfig, ClientConnection, Destination, Event, Output, ReadEvent, ServerConfig,
    ServerConnection,
};
use tessera_aws_lc::{KeyCounts, KeysAhead};
use tessera_harness::at;
use tessera_interop::{KeyKind, Pki, SERVER_NAME};
use tessera_vault::{Limits, MemoryVault, TicketKey, TicketKeyRing};

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
    /// With the provider's stack depth, or another.
    pub fn new(way: &'static Way, stack_depth: Option<StackDepth>) -> Self {
        let (mut provider, ahead) = tessera_aws_lc::provider_with_keys_ahead();
        if !way.ahead {
            provider = tessera_aws_lc::provider();
        }
        provider.stack_depth = stack_depth.unwrap_or(provider.stack_depth);
        let mut client = ClientConfig::new(provider, pki().verifier());
        let identity = pki().server(KeyKind::P256);
        let mut server = ServerConfig::new(provider, vec![identity.credential()]);
        client.groups = vec![way.group];
        server.groups = vec![way.group];
        client.policy.tickets.new_session_count = 1;
        let unix = at(0).unix.unwrap_or_default();
        let day = Duration::from_secs(24 * 3600);
        let ring = TicketKeyRing::new(&provider);
        let key = TicketKey::generate(&provider, unix, day, day).expect("random bytes");
        ring.add(key, unix).expect("a good key");
        server.tickets = Some(Arc::new(ring));
        match way.kind {
            Kind::Full | Kind::Resumed => (),
            Kind::Mutual => {
                client.credentials = vec![pki().client(KeyKind::P256).credential()];
                server.client_authentication = ClientAuthentication::Required(pki().verifier());
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
        let (client, server) = (client.checked(), server.checked());
        let (client, server) = (client.expect("works"), server.expect("works"));
        Self { way, client, server, ahead: way.ahead.then_some(ahead) }
    }

    /// Returns the average cost of a connection; each resumes the one before.
    pub fn round(&self, handshakes: usize) -> Cost {
        let (_, mut session) = self.connect(None);
        let mut total = Cost::default();
        for _ in 0..handshakes {
            assert!(session.is_some(), "there is a ticket");
            total.ahead += self.make_ahead();
            let is_full = matches!(self.way.kind, Kind::Full | Kind::Mutual);
            let (cost, next) = self.connect(session.filter(|_| !is_full));
            total.client += cost.client;
            total.server += cost.server;
            session = next;
        }
        total.of(handshakes)
    }

    /// Makes the key pairs that a connection takes, of both ends; returns how long that took.
    fn make_ahead(&self) -> Duration {
        let Some(ahead) = self.ahead else { return Duration::ZERO };
        // One at each end.
        let mut counts = KeyCounts::of_client(2);
        counts.ml_kem_768 = usize::from(self.way.group == NamedGroup::X25519MLKEM768);
        match self.way.kind {
            Kind::ForwardSecret(NamedGroup::X25519, _) => counts.one_time_x25519 = 1,
            Kind::ForwardSecret(..) => counts.one_time_x25519_ml_kem_768 = 1,
            _ => (),
        }
        let began = thread_time();
        while ahead.fill(counts) {}
        thread_time() - began
    }

    fn connect(&self, session: Option<ClientSession>) -> (Cost, Option<ClientSession>) {
        let resumes = session.is_some();
        let destination =
            Destination { server_name: SERVER_NAME.into(), session, ..Destination::default() };
        let (mut to_server, mut to_client) = (Output::new(), Output::new());
        let mut cost = Cost::default();
        let began = thread_time();
        let client =
            ClientConnection::start(self.client.clone(), destination, at(0), &mut to_server);
        let mut client = client.expect("starts");
        // Every connection brings one request: early if possible, otherwise after the handshake.
        let mut request = Some(REQUEST);
        if client.early_data_room() > 0 {
            let written = client.write_early_data(REQUEST, &mut to_server);
            assert_eq!(written.expect("takes early data"), REQUEST.len());
            request = None;
        }
        cost.client += thread_time() - began;
        let mut received = 0;
        let began = thread_time();
        let mut server = ServerConnection::start(self.server.clone(), at(0));
        cost.server += thread_time() - began;
        let mut session = None;
        while !to_server.is_empty() || !to_client.is_empty() {
            let mut input = to_server.as_slice().to_vec();
            to_server.consume(input.len());
            let began = thread_time();
            received += server_reads(&mut server, &mut input, &mut to_client);
            cost.server += thread_time() - began;
            let mut input = to_client.as_slice().to_vec();
            to_client.consume(input.len());
            let began = thread_time();
            session = client_reads(&mut client, &mut input, &mut to_server).or(session);
            if let Some(request) = request.take_if(|_| client.facts().handshake_complete) {
                client.write(request, &mut to_server).expect("takes data");
            }
            cost.client += thread_time() - began;
        }
        assert_eq!(received, REQUEST.len(), "the request is there");
        let facts = server.facts();
        assert!(client.facts().handshake_complete && facts.handshake_complete);
        assert_eq!(facts.psk.is_some(), resumes, "the handshake is of its way");
        let one_time_key = match self.way.kind {
            Kind::ForwardSecret(kind, _) if resumes => Some(kind),
            _ => None,
        };
        assert_eq!(facts.one_time_key, one_time_key, "the handshake is of its way");
        assert_eq!(
            facts.peer.is_some(),
            self.way.kind == Kind::Mutual,
            "the handshake is of its way"
        );
        cost.end(server, client);
        (cost, session)
    }
}

/// Processor time of one connection in each side's engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// The client's.
    pub client: Duration,
    /// The server's.
    pub server: Duration,
    /// That of key pairs made ahead, for both.
    pub ahead: Duration,
}

impl Cost {
    /// Drops both ends, which takes time too.
    pub(crate) fn end<S, C>(&mut self, server: S, client: C) {
        let began = thread_time();
        drop(server);
        self.server += thread_time() - began;
        let began = thread_time();
        drop(client);
        self.client += thread_time() - began;
    }

    /// Returns the average of so many connections.
    pub(crate) fn of(self, connections: usize) -> Self {
        let connections = u32::try_from(connections).unwrap_or(u32::MAX);
        let Self { client, server, ahead } = self;
        Self {
            client: client / connections,
            server: server / connections,
            ahead: ahead / connections,
        }
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

/// Returns the processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock of the thread");
    Duration::from(time)
}
