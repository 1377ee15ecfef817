//! Scenes over datagrams.

use std::time::Duration;

use tessera::crypto::Suite;
use tessera::resume::ClientSession;
use tessera::{AssociationOptions, ConnectionId, Destination};
use tessera_harness::{DatagramPair, EARLY_DATA, Link, Mode, Scene, at, lossless, to};
use tessera_null_provider::provider;

pub const DELAY: Duration = Duration::from_millis(20);

/// Returns the scene of a mode.
pub fn scene(mode: Mode) -> Scene {
    Scene::new(provider(), mode)
}

/// Returns the scene of a full handshake with one real suite, changed.
pub fn scene_with(change: fn(Suite) -> Suite) -> Scene {
    let mut provider = tessera_aws_lc::provider();
    let Suite { id, hash, aead, .. } = *provider.suites[0];
    let suite = change(Suite::new(id, hash, aead));
    provider.suites = Box::leak(Box::new([&*Box::leak(Box::new(suite))]));
    Scene::new(provider, Mode::Full)
}

/// Starts both ends with a session of an earlier association if the mode needs one, and with early data if it can be
/// sent.
pub fn start(scene: &Scene, options: AssociationOptions, link: Link) -> DatagramPair {
    let session = scene.mode.resumes().then(|| session(scene)).flatten();
    start_with(scene, session, options, link)
}

/// Starts both ends with this session.
pub fn start_with(
    scene: &Scene,
    session: Option<ClientSession>,
    options: AssociationOptions,
    link: Link,
) -> DatagramPair {
    let mut pair = begin(scene, to(session), [options.clone(), options], link);
    if pair.client.early_data_room() >= EARLY_DATA.len() {
        assert_eq!(pair.client.write_early_data(EARLY_DATA), Ok(true), "it fits");
    }
    pair
}

/// Starts both ends to a destination.
pub fn begin(
    scene: &Scene,
    destination: Destination,
    options: [AssociationOptions; 2],
    link: Link,
) -> DatagramPair {
    let pair =
        DatagramPair::start(&scene.client, &scene.server, destination, options, (at(0), link));
    pair.expect("starts")
}

/// Returns a session of a full handshake.
pub fn session(scene: &Scene) -> Option<ClientSession> {
    let options = [AssociationOptions::default(), AssociationOptions::default()];
    let mut pair = begin(scene, to(None), options, lossless(DELAY));
    pair.run();
    pair.to_client.sessions.pop()
}

/// Returns options with a connection ID of these bytes.
pub fn with_id(id: &[u8]) -> AssociationOptions {
    AssociationOptions { connection_id: ConnectionId::new(id), ..AssociationOptions::default() }
}

/// Checks that both ends completed, agree on their secrets, and carry data both ways.
#[track_caller]
pub fn is_connected(pair: &mut DatagramPair, what: &str) {
    use tessera::Role::{Client, Server};
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{what}");
    assert!(pair.to_client.complete && pair.to_server.complete, "{what}");
    let mut exported = [[0; 32]; 2];
    let label = b"EXPORTER-test";
    pair.client.export_keying_material(label, b"", &mut exported[0]).expect("complete");
    pair.server.export_keying_material(label, b"", &mut exported[1]).expect("complete");
    assert_eq!(exported[0], exported[1], "{what}");
    pair.link = lossless(DELAY);
    pair.to_client.data.clear();
    pair.to_server.data.clear();
    pair.write(Client, b"from the client").expect("writes");
    pair.write(Server, b"from the server").expect("writes");
    pair.pass(DELAY * 4);
    assert_eq!(pair.to_server.data, b"from the client", "{what}");
    assert_eq!(pair.to_client.data, b"from the server", "{what}");
}
