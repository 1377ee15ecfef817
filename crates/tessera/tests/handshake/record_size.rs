//! record_size_limit (RFC 8449): it binds a peer that knows it, and only once it does.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::{OneVault, Pair, UnsealedTickets, at};
use tessera_null_provider::{NullSigner, NullVerifier, provider};

fn configs(client_limit: Option<u16>, server_limit: Option<u16>) -> (ClientConfig, ServerConfig) {
    let mut client = ClientConfig::new(provider(), Arc::new(NullVerifier));
    client.record_size_limit = client_limit;
    client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let key = PrivateKey::Signs(Arc::new(NullSigner));
    let credential = Credential::new(vec![vec![0x30; 300]], key);
    let mut server = ServerConfig::new(provider(), vec![credential]);
    server.record_size_limit = server_limit;
    server.tickets = Some(Arc::new(UnsealedTickets));
    server.policy.early_data.forward_secret =
        Some(OneTimeKeyGuard::new(Arc::new(OneVault::default())));
    (client, server)
}

/// A full handshake and one with early data, with more data than a record of 64 bytes holds.
fn connect_twice(client: ClientConfig, server: ServerConfig) {
    let mut session = None;
    for early in [0, 1_000] {
        let destination =
            Destination { server_name: "server.example".into(), session, ..Destination::default() };
        let mut pair = Pair::start(&client, &server, destination, at(0)).expect("starts");
        let data = vec![b'e'; early];
        let written = pair.client.write_early_data(&data, &mut pair.client_output);
        assert_eq!(written, Ok(early));
        pair.run().client_write(&[b'c'; 1_000]);
        pair.run().server_write(&[b's'; 1_000]);
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        assert_eq!(pair.to_server.early_data, data);
        assert_eq!(pair.to_server.data, [b'c'; 1_000]);
        assert_eq!(pair.to_client.data, [b's'; 1_000]);
        session = pair.to_client.sessions.pop();
    }
}

/// The client doesn't know the server's limit.
#[test]
fn data_arrives_whole_with_a_record_size_limit_of_the_server_alone() {
    let (client, server) = configs(None, Some(64));
    connect_twice(client, server);
}

#[test]
fn data_arrives_whole_with_a_record_size_limit_of_the_client_alone() {
    let (client, server) = configs(Some(64), None);
    connect_twice(client, server);
}

/// Early data is sent before the server's limit is known.
#[test]
fn data_arrives_whole_with_record_size_limits_of_both_sides() {
    let (client, server) = configs(Some(100), Some(64));
    connect_twice(client, server);
}
