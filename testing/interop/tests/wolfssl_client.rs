//! A client of wolfSSL's against Tessera's server.

use tessera::wire::NamedGroup;
use tessera_interop::{KeyKind, Listener, Pki, SERVER_NAME};
use tessera_test_peers::wolfssl;

/// wolfSSL sends a share for P-256. After a HelloRetryRequest it repeats its extensions in another order.
#[test]
fn the_server_shakes_hands_with_wolfssl_at_once_and_after_a_hello_retry_request() {
    let pki = Pki::new();
    let listener = Listener::new();
    for (group, is_retried) in [(NamedGroup::SECP256R1, false), (NamedGroup::SECP384R1, true)] {
        let mut config = tessera_interop::server(&pki.server(KeyKind::P256));
        config.groups = vec![group];
        let mut client = wolfssl::client(listener.address(), &pki.ca_file, SERVER_NAME);
        let mut server = listener.serve(&config);
        server.handshake().hear("from wolfSSL");
        assert_eq!((server.facts().group, server.facts().hello_retry), (Some(group), is_retried));
        server.send(b"from Tessera\n");
        client.says("from Tessera");
        server.close();
        assert!(client.ends(), "{}", client.output());
    }
}
