//! Keys change automatically in time.

use tessera::crypto::Suite;
use tessera_harness::{Mode, Scene, at};
use tessera_null_provider::provider;

/// Keys change before a suite's limit: data continues, both ways, and no end asks twice.
#[test]
fn keys_are_updated_before_they_are_used_up() {
    let mut scene = Scene::new(provider(), Mode::FsDhe);
    let suite = provider().suites[0];
    let limited = Suite::new(suite.id, suite.hash, suite.aead).with_confidentiality_limit(100);
    let limited: &'static Suite = Box::leak(Box::new(limited));
    let suites: &'static [&'static Suite] = Box::leak(Box::new([limited]));
    for provider in [&mut scene.client.provider, &mut scene.server.provider] {
        provider.suites = suites;
    }
    let mut pair = scene.start(None, at(0));
    pair.run();
    // One record each: far more than one key may seal. Without new keys a write accepts nothing.
    for _ in 0..500 {
        pair.client_write(b"ping");
        pair.run();
        pair.server_write(b"pong");
        pair.run();
    }
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    assert_eq!((pair.to_server.data.len(), pair.to_client.data.len()), (2000, 2000));
}
