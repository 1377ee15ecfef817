//! Which suite a server chooses.

use tessera::wire::CipherSuite;
use tessera_harness::{Mode, Scene, at};
use tessera_null_provider::provider;

const AES_128: CipherSuite = CipherSuite::TLS_AES_128_GCM_SHA256;
const AES_256: CipherSuite = CipherSuite::TLS_AES_256_GCM_SHA384;
const CHACHA20: CipherSuite = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;

/// Returns the suite of a connection.
fn chosen(
    mode: Mode,
    by_client: bool,
    client: &[CipherSuite],
    server: &[CipherSuite],
) -> CipherSuite {
    let mut scene = Scene::new(provider(), mode);
    scene.client.suites = client.to_vec();
    scene.server.suites = server.to_vec();
    scene.server.suites_by_the_clients_preference = by_client;
    let mut pair = scene.start(None, at(0));
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    pair.server.facts().suite.expect("a suite")
}

#[test]
fn a_server_chooses_by_its_own_preference_or_by_the_clients() {
    for mode in [Mode::Full, Mode::Retry] {
        let (client, server) = ([CHACHA20, AES_256, AES_128], [AES_128, AES_256]);
        assert_eq!(chosen(mode, false, &client, &server), AES_128);
        assert_eq!(chosen(mode, true, &client, &server), AES_256, "the client's first in common");
        assert_eq!(chosen(mode, true, &[AES_128], &server), AES_128);
    }
}
