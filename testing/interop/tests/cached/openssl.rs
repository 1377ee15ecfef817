//! OpenSSL, which doesn't support it.

use tessera_interop::{Listener, SERVER_NAME};
use tessera_test_peers::openssl;

use crate::{World, assert_no_hash};

/// The extension of `docs/cached-handshakes.md`, as OpenSSL traces it.
const EXTENSION: &str = "extension_type=UNKNOWN(65372)";

#[test]
fn s_server_ignores_the_clients_cache_extension() {
    let world = World::new();
    let chain = ["-cert_chain", &world.server.intermediate_file, "-trace"];
    let strict = ["-Verify", "1", "-verify_return_error", "-CAfile", &world.pki.ca_file];
    let (mut server, address) =
        openssl::s_server(&[&world.server.arguments()[..], &chain, &strict].concat());
    for times in 1..=3 {
        let mut end = world.connect(address);
        end.send(format!("from Tessera ({times})\n").as_bytes());
        server.says(&format!("from Tessera ({times})"));
        server.tell("from OpenSSL\n");
        end.hear("from OpenSSL").close();
        assert_no_hash(end.facts());
        server.says_times(&format!("{EXTENSION}, length=0"), times);
        // From the second connection on, the client offers the chain that it knows.
        let offered = world.caches.client.metrics().missed_another_chain;
        assert_eq!(offered, times as u64 - 1);
    }
}

/// Also in the second ClientHello, which repeats them.
#[test]
fn s_server_ignores_tickets_of_a_client_that_met_tessera_before() {
    let world = World::new();
    world.meet_tessera();
    let chain = ["-cert_chain", &world.server.intermediate_file, "-trace", "-groups", "P-384"];
    let asking = ["-verify", "1", "-CAfile", &world.pki.ca_file];
    let (mut server, address) =
        openssl::s_server(&[&world.server.arguments()[..], &chain, &asking].concat());
    for times in 1..=3 {
        let mut end = world.connect(address);
        assert_no_hash(end.facts());
        assert!(end.facts().hello_retry);
        server.says_times(EXTENSION, 2 * times);
        server.tell("from OpenSSL\n");
        end.hear("from OpenSSL").close();
    }
    server.says_times(&format!("{EXTENSION}, length=16"), 2);
}

#[test]
fn s_client_ignores_the_servers_cache_extension() {
    let world = World::new();
    let listener = Listener::new();
    let trust = ["-CAfile", &world.pki.ca_file, "-verify_return_error", "-trace"];
    let name = ["-servername", SERVER_NAME, "-verify_hostname", SERVER_NAME];
    let arguments = [&world.client.arguments()[..], &trust, &name].concat();
    for times in 0..3 {
        let mut client = openssl::s_client(listener.address(), &arguments);
        let mut end = listener.serve(&world.server());
        end.handshake().send(b"from Tessera\n");
        client.says("from Tessera").says("Verify return code: 0 (ok)");
        assert_no_hash(end.facts());
        let offered = world.caches.server.metrics().missed_another_chain;
        assert_eq!(offered, times, "the client's chain is known and offered");
        client.tell("Q\n");
        end.closed().close();
        assert!(client.ends(), "{}", client.output());
        assert!(!client.output().contains(EXTENSION), "the client did not offer it");
    }
}
