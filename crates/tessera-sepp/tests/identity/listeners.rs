//! Errors before anything about the peer is known, and what each listener carries.

use tessera::wire::AlertDescription;
use tessera_sepp::identity::Listener;
use tessera_sepp::reconnection::Mode;

use crate::world::{HOME, VISITED, Words, World, meet};

#[tokio::test]
async fn n32c_is_a_full_handshake_each_time_and_takes_nothing_early() {
    let world = World::associated("early-data = \"fs\"").await;
    // A client that tries to resume with tickets of N32-f.
    let client = world.visited.careless(HOME, |_| ());
    for server in [world.home.n32f(), world.home.n32c(), world.home.n32c()] {
        let met = meet(&client, HOME, server, b"early").await;
        assert_eq!((met.mode(), &met.read[..]), (Mode::Full, &b""[..]));
    }
    let own = world.visited.tls().to(&crate::world::fqdn(HOME)).unwrap().n32c;
    for _ in 0..2 {
        let met = meet(&own, HOME, world.home.n32c(), b"early").await;
        assert_eq!((met.mode(), &met.read[..]), (Mode::Full, &b""[..]));
    }
}

#[tokio::test]
async fn a_shared_listener_carries_n32c_over_full_handshakes_alone() {
    let mut world = World::associated("early-data = \"fs\"").await;
    world.home_words = Words { n32f: "127.0.0.1:2", ..world.home_words };
    let shared = crate::world::Sepp::new(
        &world.home_words,
        &world.home_ca.issue(HOME),
        &[("visited", &world.visited_ca), ("third", &world.third_ca)],
    );
    let client = world.visited.careless(HOME, |_| ());
    let met = meet(&client, HOME, shared.n32c(), b"").await;
    let first = shared.identify(&met.server.unwrap());
    assert!(first.carries_n32c() && first.carries_n32f());
    assert_eq!(first.identity.listener, Listener::Shared);
    shared.associations.establish(VISITED, 7, first.identity.certificate.clone());
    // The ticket of a connection that preceded the association opens nothing.
    let met = meet(&client, HOME, shared.n32f(), b"early").await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::Full, &b""[..]));
    let met = meet(&client, HOME, shared.n32f(), b"early").await;
    let modes = (Mode::ForwardSecretEarlyData, &b"early"[..]);
    assert_eq!((met.mode(), &met.read[..]), modes);
    let resumed = shared.identify(&met.server.unwrap());
    assert!(!resumed.carries_n32c() && resumed.carries_n32f());
}

#[tokio::test]
async fn a_client_sends_the_name_of_this_sepp() {
    let mut world = World::new("");
    let client = world.visited.careless(HOME, |it| it.verifier = accepting(&world));
    for (name, alert) in
        [("", AlertDescription::MISSING_EXTENSION), (VISITED, AlertDescription::UNRECOGNIZED_NAME)]
    {
        for server in [world.home.n32c(), world.home.n32f()] {
            let met = meet(&client, name, server, b"").await;
            assert_eq!(met.server_alert(), Some(alert), "{name:?}");
        }
    }
    // A peer that may omit it, and another one that may not.
    world.home_words.peers[0].2 = "risky-without-sni = true\n".to_owned();
    world.home.reload(&world.home_words);
    let met = meet(&client, "", world.home.n32f(), b"").await;
    assert_eq!(met.mode(), Mode::Full);
    world.home.identify(&met.server.unwrap());
    let third = world.third.careless(HOME, |it| it.verifier = accepting(&world));
    let met = meet(&third, "", world.home.n32f(), b"").await;
    assert_eq!(met.server_alert(), Some(AlertDescription::ACCESS_DENIED));
}

/// Accepts any server with a certificate of the home network.
fn accepting(world: &World) -> std::sync::Arc<tessera_webpki::WebPkiVerifier> {
    let verifier = tessera_webpki::WebPkiVerifier::new(&[world.home_ca.der()]).unwrap();
    std::sync::Arc::new(verifier.leaving_server_names_to_a_wrapper())
}
