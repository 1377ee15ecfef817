//! Tessera as the client, and a stock OpenSSL server.

use std::sync::Arc;

use tessera::ClientConfig;
use tessera::resume::{ClientSession, FlightHandle, PskKind, Vault, Verdict};
use tessera::wire::NamedGroup;
use tessera_openssl_peer::{
    EarlyData, OpensslEnd, OpensslServer, PAIRED, Site, TesseraClient, carry,
};
use tessera_vault::MemoryVault;

const REQUEST: &[u8] = b"a request that may be executed once";

struct World {
    site: Site,
    vault: Arc<MemoryVault>,
    client: ClientConfig,
}

impl World {
    fn new() -> Self {
        let site = Site::make();
        let client = site.tessera_client().expect("a configuration");
        Self { site, vault: Arc::new(MemoryVault::new(100)), client }
    }

    fn server(&self, groups: &str) -> OpensslServer {
        OpensslServer::new(&self.site, self.vault.clone(), groups).expect("a server")
    }

    /// Connects for the first time: a full handshake, and sessions.
    fn first(&self, server: &OpensslServer) -> Vec<ClientSession> {
        let mut openssl = server.accept().expect("a connection");
        let mut client = self.connect(None);
        carry(&mut openssl, &mut client);
        complete(&openssl, &client);
        assert_eq!(client.facts().psk, None);
        assert_eq!(client.sessions.len(), 2);
        assert_eq!(self.vault.len(), 2, "one key for each ticket");
        client.sessions
    }

    fn connect(&self, session: Option<ClientSession>) -> TesseraClient {
        TesseraClient::connect(&self.client, session, REQUEST).expect("a connection")
    }
}

fn complete(openssl: &OpensslEnd, client: &TesseraClient) {
    assert_eq!(openssl.error, None);
    assert_eq!(client.error, None);
    assert!(openssl.complete && client.complete);
}

/// Data in both directions.
fn talk(openssl: &mut OpensslEnd, client: &mut TesseraClient) {
    assert_eq!(client.write(b"ping"), Ok(4));
    openssl.write(b"pong").expect("it is sent");
    carry(openssl, client);
    assert_eq!(openssl.data, b"ping");
    assert_eq!(client.data, b"pong");
}

/// Returns the server's answer to a flight from any source.
fn deliver(server: &OpensslServer, flight: &[u8]) -> OpensslEnd {
    let mut openssl = server.accept().expect("a connection");
    openssl.deliver(flight);
    openssl.collect();
    openssl
}

#[test]
fn an_openssl_server_accepts_forward_secret_early_data_once() {
    let world = World::new();
    let server = world.server("X25519");
    let session = world.first(&server).pop();
    let mut client = world.connect(session);
    let flight = client.collect();
    assert!(flight.windows(PAIRED.len()).any(|window| window == PAIRED));

    let mut openssl = server.accept().expect("a connection");
    openssl.deliver(&flight);
    client.deliver(&openssl.collect());
    assert_eq!(openssl.early_data, REQUEST, "before the client's second flight");
    assert_eq!(world.vault.len(), 1, "the key is gone");
    carry(&mut openssl, &mut client);
    complete(&openssl, &client);
    assert!(openssl.resumed());
    assert_eq!(openssl.early_data_status(), EarlyData::Accepted);
    assert_eq!(client.verdict, Some(Ok(())));
    let facts = client.facts();
    assert_eq!(facts.psk, Some(PskKind::ForwardSecret));
    assert_eq!(facts.one_time_key, Some(NamedGroup::X25519));
    assert!(facts.group.is_some(), "psk_dhe_ke");
    talk(&mut openssl, &mut client);

    // The exact replay, any number of times: nothing is executed, and the handshake fails.
    for _ in 0..3 {
        let openssl = deliver(&server, &flight);
        assert_eq!(openssl.error, None);
        assert_eq!(openssl.early_data, b"");
        assert!(!openssl.complete);
    }
}

/// Each connection brings the ticket for the next.
#[test]
fn the_client_comes_back_to_an_openssl_server_with_each_ticket() {
    let world = World::new();
    let server = world.server("X25519");
    let mut session = world.first(&server).pop();
    for round in 0..5 {
        let mut client = world.connect(session);
        let mut openssl = server.accept().expect("a connection");
        carry(&mut openssl, &mut client);
        complete(&openssl, &client);
        assert_eq!(openssl.early_data, REQUEST, "round {round}");
        talk(&mut openssl, &mut client);
        session = client.sessions.pop();
    }
}

/// A replay was faster: the client resumes with OpenSSL's own ticket, the second identity, and learns that it must not
/// send again.
#[test]
fn early_data_at_an_openssl_server_is_rejected_when_its_one_time_key_is_gone() {
    let world = World::new();
    let server = world.server("X25519");
    let mut sessions = world.first(&server);
    for (burned, verdict) in [(true, Verdict::Burned), (false, Verdict::Used)] {
        let session = sessions.pop().expect("a session");
        let id = session.forward_secret.as_ref().expect("a forward-secret ticket").id;
        let mut client = world.connect(Some(session));
        let flight = client.collect();
        if burned {
            world.vault.burn(&FlightHandle(id));
        } else {
            assert_eq!(deliver(&server, &flight).early_data, REQUEST);
        }
        let mut openssl = server.accept().expect("a connection");
        openssl.deliver(&flight);
        carry(&mut openssl, &mut client);
        complete(&openssl, &client);
        assert_eq!(openssl.early_data, b"");
        assert_eq!(openssl.early_data_status(), EarlyData::Rejected);
        assert_eq!(client.facts().psk, Some(PskKind::Resumption), "{verdict:?}");
        assert_eq!(client.verdict, Some(Err(verdict)));
        talk(&mut openssl, &mut client);
    }
}

/// A HelloRetryRequest: early data is over, OpenSSL asks for the same identity twice, and its PSK
/// still resumes.
#[test]
fn early_data_at_an_openssl_server_is_burned_by_a_hello_retry_request() {
    let world = World::new();
    let session = world.first(&world.server("X25519")).pop();
    let retries = world.server("P-384");
    let mut client = world.connect(session);
    let flight = client.collect();
    let mut openssl = retries.accept().expect("a connection");
    openssl.deliver(&flight);
    carry(&mut openssl, &mut client);
    complete(&openssl, &client);
    assert!(client.facts().hello_retry);
    assert_eq!(openssl.early_data, b"");
    assert_eq!(client.facts().psk, Some(PskKind::ForwardSecret));
    assert_eq!(client.verdict, Some(Err(Verdict::Burned)));
    talk(&mut openssl, &mut client);
    // And a server that would not retry finds no key to take.
    assert_eq!(deliver(&world.server("X25519"), &flight).early_data, b"");
}

/// A binder that is wrong is fatal, also to OpenSSL.
#[test]
fn an_openssl_server_does_not_accept_a_flight_that_was_altered() {
    let world = World::new();
    let server = world.server("X25519");
    let session = world.first(&server).pop();
    let mut flight = world.connect(session).collect();
    // The client's random.
    flight[5 + 4 + 2] ^= 1;
    let openssl = deliver(&server, &flight);
    assert!(openssl.error.is_some());
    assert_eq!(openssl.early_data, b"");
}

/// A share that no key can be agreed with (all zeros) is fatal: the key was taken.
#[test]
fn an_openssl_server_refuses_a_share_of_low_order() {
    let world = World::new();
    let server = world.server("X25519");
    let session = world.first(&server).pop();
    let mut flight = world.connect(session).collect();
    let at = flight.windows(PAIRED.len()).position(|window| window == PAIRED);
    let share = at.expect("the identity") + PAIRED.len() + 32 + 2;
    flight[share..share + 32].fill(0);
    let openssl = deliver(&server, &flight);
    let error = openssl.error.expect("it ends");
    assert!(error.contains("bad extension"), "the callback's word, and no binder's: {error}");
    assert_eq!(openssl.early_data, b"");
    assert_eq!(world.vault.len(), 1);
}

/// A client that doesn't list OpenSSL's kind of key gets its tickets alone.
#[test]
fn an_openssl_server_serves_a_client_without_forward_secret_early_data() {
    let mut world = World::new();
    world.client.policy.early_data.forward_secret = None;
    let server = world.server("X25519");
    let mut openssl = server.accept().expect("a connection");
    let mut client = world.connect(None);
    carry(&mut openssl, &mut client);
    complete(&openssl, &client);
    assert_eq!(world.vault.len(), 0);
    let session = client.sessions.pop();
    assert!(session.as_ref().is_some_and(|session| session.forward_secret.is_none()));
    let mut openssl = server.accept().expect("a connection");
    let mut client = world.connect(session);
    carry(&mut openssl, &mut client);
    complete(&openssl, &client);
    assert_eq!(client.facts().psk, Some(PskKind::Resumption));
}

/// OpenSSL would also accept early data under its own tickets; here it doesn't.
#[test]
fn an_openssl_server_takes_no_replayable_early_data() {
    let mut world = World::new();
    let server = world.server("X25519");
    let mut session = world.first(&server).pop().expect("a session");
    session.forward_secret = None;
    assert!(session.state.max_early_data_size > 0, "OpenSSL would send early data");
    world.client.policy.early_data.replayable_without_forward_secrecy = true;
    let mut client = world.connect(Some(session));
    let mut openssl = server.accept().expect("a connection");
    carry(&mut openssl, &mut client);
    complete(&openssl, &client);
    assert_eq!(client.facts().psk, Some(PskKind::Resumption));
    assert_eq!(openssl.early_data, b"");
    assert_eq!(openssl.early_data_status(), EarlyData::Rejected);
}
