//! Peers that compress certificates with zlib themselves, and don't know that an algorithm can stand for a chain: they
//! ignore the private ids next to zlib. OpenSSL supports that since 3.2, and NSS's client too, in versions newer than
//! Debian 12's: `make newer-peers` provides them. NSS's `selfserv` has no such option, and GnuTLS in Debian no zlib.

use tessera_interop::{Form, Listener, SERVER_NAME, forms};
use tessera_test_peers::{nss, openssl};

use crate::World;

/// zlib's number (RFC 8879 §7.3).
const ZLIB: Form = Form::Compressed(1);

#[test]
#[ignore = "needs OpenSSL 3.2 or later with zlib: make newer-peers"]
fn s_server_takes_zlib_from_among_the_ids_of_its_chain() {
    let mut world = World::new();
    // Repeated names compress well; a single certificate may not become shorter, and is then sent whole.
    world.client.chain.push(world.pki.root());
    let chain = ["-cert_chain", &world.server.intermediate_file, "-cert_comp"];
    let strict = ["-Verify", "1", "-verify_return_error", "-CAfile", &world.pki.ca_file];
    let (mut server, address) =
        openssl::s_server(&[&world.server.arguments()[..], &chain, &strict].concat());
    world.meet_tessera();
    let before = world.caches.client.metrics().missed_another_chain;
    for times in 1..=3 {
        let mut end = world.connect(address);
        end.send(format!("from Tessera ({times})\n").as_bytes());
        server.says(&format!("from Tessera ({times})"));
        server.tell("from OpenSSL\n");
        end.hear("from OpenSSL").close();
        assert_eq!(forms(end.facts()), (ZLIB, ZLIB));
        assert_eq!(world.caches.client.metrics().missed_another_chain - before, times);
    }
}

#[test]
#[ignore = "needs OpenSSL 3.2 or later with zlib: make newer-peers"]
fn s_client_takes_zlib_from_among_the_ids_of_its_chain() {
    let world = World::new();
    let listener = Listener::new();
    let trust = ["-CAfile", &world.pki.ca_file, "-verify_return_error"];
    let name = ["-servername", SERVER_NAME, "-verify_hostname", SERVER_NAME];
    let arguments = [&world.client.arguments()[..], &trust, &name].concat();
    for times in 0..3 {
        let mut client = openssl::s_client(listener.address(), &arguments);
        let mut end = listener.serve(&world.server());
        end.handshake().send(b"from Tessera\n");
        client.says("from Tessera").says("Verify return code: 0 (ok)");
        assert_eq!(forms(end.facts()), (ZLIB, ZLIB));
        assert_eq!(world.caches.server.metrics().missed_another_chain, times, "its id is offered");
        client.tell("Q\n");
        end.closed().close();
        assert!(client.ends(), "{}", client.output());
    }
}

#[test]
#[ignore = "needs an NSS whose client compresses, such as 3.110: make newer-peers"]
fn tstclnt_takes_zlib_from_among_the_ids_of_its_chain() {
    let world = World::new();
    let listener = Listener::new();
    let database = nss::Database::new(&world.pki.ca_file);
    database.add("client", &world.client.certificate_file, &world.client.key_pem());
    let arguments = ["-n", "client", "--zlib-certificate-compression"];
    for times in 0..3 {
        let mut client = nss::client(&database, listener.address(), SERVER_NAME, &arguments);
        let mut end = listener.serve(&world.server());
        end.handshake().send(b"from Tessera\n");
        client.says("from Tessera");
        assert_eq!(forms(end.facts()), (ZLIB, ZLIB));
        assert_eq!(world.caches.server.metrics().missed_another_chain, times, "its id is offered");
        client.tell("from NSS\n");
        end.hear("from NSS").close();
    }
}
