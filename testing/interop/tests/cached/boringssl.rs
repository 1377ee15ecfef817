//! BoringSSL, with an application that caches the server's chain. It has no algorithm for chains of clients.

use tessera::handshake::ClientAuthentication;
use tessera_cache::PublicIds;
use tessera_interop::{Caches, Client, Form, Listener, SERVER_NAME, forms, to};
use tessera_test_peers::{Process, boringssl};

use crate::World;

/// Returns BoringSSL's counts of its connections: chains as hashes, and whole ones.
fn counts(peer: &Process) -> (usize, usize) {
    let times = |text: &str| peer.stdout().matches(text).count();
    (times(": hash\n"), times(": whole\n"))
}

/// Connects one client of BoringSSL to Tessera's server, which presents these identities in turn.
#[track_caller]
fn serve(world: &World, identities: &[&tessera_interop::Identity]) -> (Vec<Form>, (usize, usize)) {
    let listener = Listener::new();
    let times = identities.len();
    let mut peer = boringssl::client(listener.address(), &world.pki.ca_file, SERVER_NAME, times);
    let mut sent = Vec::new();
    for identity in identities {
        let mut config = world.server();
        config.credentials = vec![identity.credential()];
        config.client_authentication = ClientAuthentication::None;
        let mut end = listener.serve(&config);
        end.handshake().hear("from BoringSSL").send(b"from Tessera\n").close().closed();
        sent.push(forms(end.facts()).0);
    }
    assert!(peer.ends(), "{}", peer.output());
    assert_eq!(peer.stdout().matches("from Tessera\n").count(), times);
    (sent, counts(&peer))
}

#[test]
fn a_boringssl_client_is_sent_the_servers_chain_once() {
    let world = World::new();
    let (sent, counts) = serve(&world, &[&world.server; 3]);
    assert_eq!(sent, [Form::Whole, Form::Hash, Form::Hash]);
    assert_eq!(counts, (2, 1));
}

#[test]
fn a_boringssl_client_is_sent_a_new_chain_of_the_server_once() {
    let world = World::new();
    let new = world.pki.server_of_intermediate();
    let (sent, counts) = serve(&world, &[&world.server, &new, &new, &world.server]);
    assert_eq!(sent, [Form::Whole, Form::Whole, Form::Hash, Form::Hash]);
    assert_eq!(counts, (2, 2));
}

/// The server's cache needs no earlier connection of the client.
#[test]
fn a_boringssl_client_is_sent_a_hash_by_a_server_that_was_restarted() {
    let mut world = World::new();
    let listener = Listener::new();
    let mut peer = boringssl::client(listener.address(), &world.pki.ca_file, SERVER_NAME, 2);
    for form in [Form::Whole, Form::Hash] {
        world.caches = Caches::new();
        let mut config = world.server();
        config.client_authentication = ClientAuthentication::None;
        let mut end = listener.serve(&config);
        end.handshake().hear("from BoringSSL").close().closed();
        assert_eq!(forms(end.facts()).0, form);
    }
    assert!(peer.ends(), "{}", peer.output());
}

/// Connects by Tessera's client; returns how the server's chain came.
#[track_caller]
fn connect(world: &World, address: std::net::SocketAddr) -> Form {
    let mut end = Client::start(&world.client(), to(None), address);
    end.handshake().send(b"from Tessera\n").hear("from BoringSSL").close().closed();
    forms(end.facts()).1
}

#[test]
fn a_boringssl_server_sends_its_chain_once() {
    let world = World::new();
    let (peer, address) = boringssl::server(&world.server.chain_file(), &world.server.key_file);
    let came: Vec<_> = (0..3).map(|_| connect(&world, address)).collect();
    assert_eq!(came, [Form::Whole, Form::Hash, Form::Hash]);
    peer.says_times("from Tessera", 3);
    assert_eq!(counts(&peer), (2, 1));
}

#[test]
fn a_boringssl_server_that_was_restarted_sends_a_hash_and_one_with_a_new_chain_all_of_it() {
    let world = World::new();
    let new = world.pki.server_of_intermediate();
    for (identity, form) in [
        (&world.server, Form::Whole),
        (&world.server, Form::Hash),
        (&new, Form::Whole),
        (&new, Form::Hash),
    ] {
        let (_peer, address) = boringssl::server(&identity.chain_file(), &identity.key_file);
        assert_eq!(connect(&world, address), form);
    }
}

#[test]
fn a_client_that_was_restarted_is_sent_the_chain_of_a_boringssl_server_again() {
    let mut world = World::new();
    let (_peer, address) = boringssl::server(&world.server.chain_file(), &world.server.key_file);
    for _ in 0..2 {
        world.caches = Caches::new();
        assert_eq!(connect(&world, address), Form::Whole);
        assert_eq!(connect(&world, address), Form::Hash);
    }
}

/// Without public ids an observer recognises nothing, and BoringSSL knows nothing.
#[test]
fn a_boringssl_server_sends_its_chain_each_time_where_ids_are_not_public() {
    let mut world = World::new();
    world.caches = Caches::with(PublicIds::Never);
    let (peer, address) = boringssl::server(&world.server.chain_file(), &world.server.key_file);
    for _ in 0..3 {
        assert_eq!(connect(&world, address), Form::Whole);
    }
    peer.says_times(": whole", 3);
}
