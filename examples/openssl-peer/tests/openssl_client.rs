//! A stock OpenSSL client, and Tessera as the server.

use std::sync::Arc;

use tessera::ServerConfig;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{FlightHandle, PskKind, Vault};
use tessera::wire::{AlertDescription, NamedGroup};
use tessera_openssl_peer::{
    EarlyData, LONE, OpensslClient, OpensslEnd, Site, TesseraServer, Verdict, carry,
};
use tessera_vault::MemoryVault;

const REQUEST: &[u8] = b"a request that may be executed once";

struct World {
    site: Site,
    vault: Arc<MemoryVault>,
    server: ServerConfig,
}

impl World {
    fn new() -> Self {
        let site = Site::make();
        let vault = Arc::new(MemoryVault::new(100));
        let server = site.tessera_server(vault.clone()).expect("a configuration");
        Self { site, vault, server }
    }

    fn client(&self, groups: &str) -> OpensslClient {
        OpensslClient::new(&self.site, groups).expect("a client")
    }

    /// Connects for the first time: a full handshake, and tickets.
    fn first(&self, client: &OpensslClient) {
        let mut openssl = client.connect().expect("a connection");
        let server = self.meet(&mut openssl);
        assert_eq!(server.facts().psk, None);
        assert!(!openssl.resumed());
        assert_eq!(self.vault.len(), 2, "one key for each ticket");
    }

    /// Runs this client's connection against a server, to its end.
    fn meet(&self, openssl: &mut OpensslEnd) -> TesseraServer {
        let mut server = TesseraServer::accept(&self.server).expect("a server");
        carry(openssl, &mut server);
        assert_eq!(server.error, None);
        assert_eq!(openssl.error, None);
        assert!(server.complete && openssl.complete);
        server
    }

    /// Returns a server for a flight from anywhere.
    fn deliver(&self, flight: &[u8]) -> TesseraServer {
        let mut server = TesseraServer::accept(&self.server).expect("a server");
        server.deliver(flight);
        server
    }
}

/// Data in both directions.
fn talk(openssl: &mut OpensslEnd, server: &mut TesseraServer) {
    openssl.write(b"ping").expect("it is sent");
    assert_eq!(server.write(b"pong"), Ok(4));
    carry(openssl, server);
    assert_eq!(server.data, b"ping");
    assert_eq!(openssl.data, b"pong");
}

#[test]
fn forward_secret_early_data_of_an_openssl_client_is_accepted_once() {
    let world = World::new();
    let client = world.client("X25519:P-256");
    world.first(&client);
    let ticket = client.pop().expect("a ticket");
    let handle = ticket.handle;
    let mut openssl = client.come_back(ticket, REQUEST).expect("a connection");
    let flight = openssl.collect();
    let keys = world.vault.len();

    let mut server = world.deliver(&flight);
    assert_eq!(server.early_data, REQUEST, "before the client hears anything");
    assert_eq!(world.vault.len(), keys - 1, "the key is gone");
    carry(&mut openssl, &mut server);
    assert!(openssl.complete && openssl.resumed());
    assert_eq!(openssl.early_data_status(), EarlyData::Accepted);
    let facts = server.facts();
    assert_eq!(facts.psk, Some(PskKind::ForwardSecret));
    assert_eq!(facts.one_time_key, Some(NamedGroup::X25519));
    assert_eq!(facts.early_data, EarlyDataStatus::Accepted);
    assert!(facts.group.is_some(), "psk_dhe_ke");
    let flight_name = facts.flight.expect("a flight");
    assert_eq!(flight_name.0, handle, "both ends know the flight by one name");
    talk(&mut openssl, &mut server);

    // The exact replay: nothing is executed, and the handshake fails.
    for _ in 0..3 {
        let server = world.deliver(&flight);
        assert_eq!(server.early_data, b"");
        assert_eq!(server.error, None);
        assert_eq!(server.facts().psk, None);
        assert!(!server.complete);
    }
}

/// Each connection brings the ticket for the next.
#[test]
fn an_openssl_client_comes_back_with_the_ticket_of_each_connection() {
    let world = World::new();
    let client = world.client("X25519");
    world.first(&client);
    for round in 0..5 {
        let ticket = client.pop().expect("a ticket");
        let mut openssl = client.come_back(ticket, REQUEST).expect("a connection");
        let mut server = world.meet(&mut openssl);
        assert_eq!(server.early_data, REQUEST, "round {round}");
        talk(&mut openssl, &mut server);
    }
}

/// A server without the key continues with its certificate; the client learns the verdict.
#[test]
fn early_data_of_an_openssl_client_is_rejected_when_its_one_time_key_is_gone() {
    let world = World::new();
    let client = world.client("X25519");
    world.first(&client);
    for (burned, verdict) in [(true, Verdict::Burned), (false, Verdict::Used)] {
        let ticket = client.pop().expect("a ticket");
        let handle = ticket.handle;
        let mut openssl = client.come_back(ticket, REQUEST).expect("a connection");
        if burned {
            world.vault.burn(&FlightHandle(handle));
        } else {
            // A replay was faster.
            let flight = openssl.collect();
            assert_eq!(world.deliver(&flight).early_data, REQUEST);
            let mut server = world.deliver(&flight);
            carry(&mut openssl, &mut server);
            rejected(&mut openssl, &mut server, verdict);
            continue;
        }
        let mut server = world.meet(&mut openssl);
        rejected(&mut openssl, &mut server, verdict);
    }
}

fn rejected(openssl: &mut OpensslEnd, server: &mut TesseraServer, verdict: Verdict) {
    assert_eq!(server.early_data, b"");
    assert!(openssl.complete && !openssl.resumed());
    assert_eq!(openssl.early_data_status(), EarlyData::Rejected);
    assert_eq!(OpensslClient::verdict(openssl), Some(verdict));
    talk(openssl, server);
}

/// A HelloRetryRequest: early data is over, the same identity comes twice, its key is burned.
#[test]
fn early_data_of_an_openssl_client_is_rejected_after_a_hello_retry_request() {
    let world = World::new();
    let client = world.client("X25519");
    world.first(&client);
    let ticket = client.pop().expect("a ticket");
    // It sends a share for a group that the server doesn't have.
    let other = world.client("P-521:X25519");
    let keys = world.vault.len();
    let mut openssl = other.come_back(ticket, REQUEST).expect("a connection");
    let mut server = world.meet(&mut openssl);
    assert!(server.facts().hello_retry);
    rejected(&mut openssl, &mut server, Verdict::Burned);
    // One was taken, two came with new tickets.
    assert_eq!(world.vault.len(), keys - 1 + 2);
}

/// Without the option no key is taken, and the client falls back.
#[test]
fn an_openssl_client_gets_a_full_handshake_at_a_server_without_lone_identities() {
    let mut world = World::new();
    let guard = world.server.policy.early_data.forward_secret.as_mut();
    guard.expect("a guard").lone_identities = false;
    let client = world.client("X25519");
    world.first(&client);
    let ticket = client.pop().expect("a ticket");
    let keys = world.vault.len();
    let mut openssl = client.come_back(ticket, REQUEST).expect("a connection");
    let mut server = world.meet(&mut openssl);
    assert_eq!(server.early_data, b"");
    assert!(!openssl.resumed());
    assert_eq!(openssl.early_data_status(), EarlyData::Rejected);
    assert_eq!(world.vault.len(), keys + 2, "new tickets, and nothing taken");
    talk(&mut openssl, &mut server);
}

/// Another protocol than the session's: burned, and a full handshake.
#[test]
fn early_data_of_an_openssl_client_is_rejected_when_the_protocol_has_changed() {
    let mut world = World::new();
    let client = world.client("X25519");
    world.first(&client);
    // A protocol list without a common entry would end the connection; this server has none.
    world.server.protocols = Vec::new();
    let ticket = client.pop().expect("a ticket");
    let mut openssl = client.come_back(ticket, REQUEST).expect("a connection");
    let mut server = world.meet(&mut openssl);
    rejected(&mut openssl, &mut server, Verdict::Burned);
}

/// Any change in transit is detected: in the identity, in its proof, anywhere else.
#[test]
fn a_flight_of_an_openssl_client_that_was_altered_is_not_accepted() {
    let world = World::new();
    let client = world.client("X25519");
    world.first(&client);
    let ticket = client.pop().expect("a ticket");
    let mut openssl = client.come_back(ticket, REQUEST).expect("a connection");
    let flight = openssl.collect();
    let at = flight.windows(LONE.len()).position(|window| window == LONE).expect("the identity");
    let keys = world.vault.len();
    let alter = |index: usize| {
        let mut altered = flight.clone();
        altered[index] ^= 1;
        world.deliver(&altered)
    };
    // The share in the identity.
    let server = alter(at + LONE.len() + 32 + 2);
    let alert = server.error.as_ref().and_then(tessera::Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    assert_eq!(world.vault.len(), keys, "no key is burned by what was altered in its identity");
    // The client's random: the proof doesn't cover it, the binder does. That burns the key.
    let server = alter(5 + 4 + 2);
    let alert = server.error.as_ref().and_then(tessera::Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    assert_eq!(server.early_data, b"");
    assert_eq!(world.vault.len(), keys - 1);
    assert_eq!(world.deliver(&flight).early_data, b"");
}
