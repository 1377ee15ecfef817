//! GnuTLS, which doesn't support it.

use tessera_interop::{Listener, SERVER_NAME};
use tessera_test_peers::gnutls;

use crate::{World, assert_no_hash};

#[test]
fn gnutls_serv_ignores_the_clients_cache_extension() {
    let world = World::new();
    let (chain, key) = (world.server.chain_file(), world.server.key_pem());
    let own = ["--x509certfile", &chain, "--x509keyfile", &key];
    let asks =
        ["--x509cafile", &world.pki.ca_file, "--require-client-cert", "--verify-client-cert"];
    let (_server, address) = gnutls::server(&[&own[..], &asks].concat());
    world.meet_tessera();
    let before = world.caches.client.metrics().missed_another_chain;
    for times in 1..=3 {
        let mut end = world.connect(address);
        end.send(b"from Tessera\n").hear("from Tessera").close();
        assert_no_hash(end.facts());
        assert_eq!(world.caches.client.metrics().missed_another_chain - before, times);
    }
}

#[test]
fn gnutls_cli_ignores_the_servers_cache_extension() {
    let world = World::new();
    let listener = Listener::new();
    let key = world.client.key_pem();
    let certificate = ["--x509certfile", &world.client.certificate_file, "--x509keyfile", &key];
    let more = ["--x509cafile", &world.pki.ca_file];
    for times in 0..3 {
        let arguments = [&certificate[..], &more].concat();
        let mut client = gnutls::client(listener.address(), SERVER_NAME, &arguments);
        let mut end = listener.serve(&world.server());
        end.handshake().send(b"from Tessera\n");
        client.says("Handshake was completed").says("from Tessera");
        assert_no_hash(end.facts());
        assert_eq!(world.caches.server.metrics().missed_another_chain, times);
        client.end_input();
        end.closed().close();
        assert!(client.ends(), "{}", client.output());
    }
}
