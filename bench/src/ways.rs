//! The ways of reconnecting, with real cryptography and the embedded ring and vault, and the cost of each for either
//! side's engine.

use std::sync::Arc;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tessera::crypto::{KeyForm, StackDepth};
use tessera::handshake::Checked;
use tessera::resume::{ClientSession, Continuation, OneTimeKeyGuard};
use tessera::wire::NamedGroup;
use tessera::{
    ClientConfig, ClientConnection, Destination, Event, Output, ReadEvent, ServerConfig,
    ServerConnection,
};
use tessera_harness::{at, credential};
use tessera_null_provider::NullVerifier;
use tessera_vault::{Limits, MemoryVault, TicketKey, TicketKeyRing};

/// A way of reconnecting: its name, the group of its key exchange, and the requirements of its early data.
pub struct Way {
    /// Its name.
    pub name: &'static str,
    group: NamedGroup,
    forward_secret: Option<(NamedGroup, Continuation)>,
    /// The form in which the vault keeps one-time keys.
    form: KeyForm,
}

/// The base of all others.
const RESUMED: Way =
    Way { name: "psk-dhe, hybrid", group: HYBRID, forward_secret: None, form: KeyForm::Expanded };

const X25519: NamedGroup = NamedGroup::X25519;
const HYBRID: NamedGroup = NamedGroup::X25519MLKEM768;

/// The request of each connection.
pub const REQUEST: &[u8] = b"hello";

/// All of them.
pub const WAYS: [Way; 9] = [
    RESUMED,
    Way { name: "psk-dhe, x25519", group: X25519, ..RESUMED },
    Way {
        name: "0rtt-fs x25519, then psk_dhe_ke x25519",
        group: X25519,
        forward_secret: Some((X25519, Continuation::PskDheKe)),
        ..RESUMED
    },
    Way {
        name: "0rtt-fs x25519, then psk_ke",
        group: X25519,
        forward_secret: Some((X25519, Continuation::PskKe)),
        ..RESUMED
    },
    Way {
        name: "0rtt-fs hybrid, then psk_dhe_ke hybrid",
        forward_secret: Some((HYBRID, Continuation::PskDheKe)),
        ..RESUMED
    },
    Way {
        name: "0rtt-fs hybrid, then psk_ke",
        forward_secret: Some((HYBRID, Continuation::PskKe)),
        ..RESUMED
    },
    Way {
        name: "0rtt-fs hybrid of seeds, then psk_dhe_ke hybrid",
        forward_secret: Some((HYBRID, Continuation::PskDheKe)),
        form: KeyForm::Seed,
        ..RESUMED
    },
    Way {
        name: "0rtt-fs hybrid of seeds, then psk_ke",
        forward_secret: Some((HYBRID, Continuation::PskKe)),
        form: KeyForm::Seed,
        ..RESUMED
    },
    Way {
        name: "0rtt-fs one-time psk (if both ends delete it), then psk_ke",
        group: X25519,
        forward_secret: Some((
            NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED,
            Continuation::PskKe,
        )),
        ..RESUMED
    },
];

/// A client and a server of one way.
pub struct Scene {
    way: &'static Way,
    client: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
}

impl Scene {
    /// With the provider's stack depth, or another.
    pub fn new(way: &'static Way, stack_depth: Option<StackDepth>) -> Self {
        let mut provider = tessera_aws_lc::provider();
        provider.stack_depth = stack_depth.unwrap_or(provider.stack_depth);
        let mut client = ClientConfig::new(provider, Arc::new(NullVerifier));
        let mut server = ServerConfig::new(provider, vec![credential()]);
        client.groups = vec![way.group];
        server.groups = vec![way.group];
        client.policy.tickets.new_session_count = 1;
        let unix = at(0).unix.unwrap_or_default();
        let day = Duration::from_secs(24 * 3600);
        let ring = TicketKeyRing::new(&provider);
        let key = TicketKey::generate(&provider, unix, day, day).expect("random bytes");
        ring.add(key, unix).expect("a good key");
        server.tickets = Some(Arc::new(ring));
        if let Some((kind, continuation)) = way.forward_secret {
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
        let (client, server) = (client.checked(), server.checked());
        Self { way, client: client.expect("works"), server: server.expect("works") }
    }

    /// Returns the average cost of a connection; each resumes the one before.
    pub fn round(&self, handshakes: usize) -> Cost {
        let (_, mut session) = self.connect(None);
        let mut total = Cost::default();
        for _ in 0..handshakes {
            assert!(session.is_some(), "there is a ticket");
            let (cost, next) = self.connect(session);
            total.client += cost.client;
            total.server += cost.server;
            session = next;
        }
        let handshakes = u32::try_from(handshakes).unwrap_or(u32::MAX);
        Cost { client: total.client / handshakes, server: total.server / handshakes }
    }

    fn connect(&self, session: Option<ClientSession>) -> (Cost, Option<ClientSession>) {
        let resumes = session.is_some();
        let destination =
            Destination { server_name: "server.example".into(), session, ..Destination::default() };
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
        let kind = self.way.forward_secret.map(|(kind, _)| kind).filter(|_| resumes);
        assert_eq!(facts.one_time_key, kind, "the handshake is of its way");
        let began = thread_time();
        drop(server);
        cost.server += thread_time() - began;
        let began = thread_time();
        drop(client);
        cost.client += thread_time() - began;
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
