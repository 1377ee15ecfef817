//! NSS, the TLS of Firefox, which doesn't support it.

use tessera_interop::{Listener, SERVER_NAME};
use tessera_test_peers::nss;

use crate::{World, assert_no_hash};

#[test]
fn selfserv_ignores_the_clients_cache_extension() {
    let world = World::new();
    let database = nss::Database::new(&world.pki.ca_file);
    database.add("server", &world.server.chain_file(), &world.server.key_pem());
    let (_server, address) = nss::server(&database, "server", &["-r", "-r"]);
    world.meet_tessera();
    let before = world.caches.client.metrics().missed_another_chain;
    for times in 1..=3 {
        let mut end = world.connect(address);
        end.send(b"GET / HTTP/1.0\r\n\r\n").hear("HTTP/1.0 200 OK").closed();
        assert_no_hash(end.facts());
        assert_eq!(world.caches.client.metrics().missed_another_chain - before, times);
    }
}

#[test]
fn tstclnt_ignores_the_servers_cache_extension() {
    let world = World::new();
    let listener = Listener::new();
    let database = nss::Database::new(&world.pki.ca_file);
    database.add("client", &world.client.certificate_file, &world.client.key_pem());
    for times in 0..3 {
        let mut client = nss::client(&database, listener.address(), SERVER_NAME, &["-n", "client"]);
        let mut end = listener.serve(&world.server());
        end.handshake().send(b"from Tessera\n");
        client.says("from Tessera");
        assert_no_hash(end.facts());
        assert_eq!(world.caches.server.metrics().missed_another_chain, times);
        client.tell("from NSS\n");
        end.hear("from NSS").close();
        // It may end with its input, and otherwise ends with the test.
    }
}
