//! The end of a connection: what counts as one, and what may still be sent.

use tessera::Error;
use tessera::resume::ClientSession;
use tessera::wire::AlertDescription;
use tessera_harness::{Mode, Pair, Scene, at, to};
use tessera_null_provider::provider;

fn scene() -> Scene {
    Scene::new(provider(), Mode::FsDhe)
}

/// Starts both ends; no early data is written yet.
fn start(scene: &Scene, session: Option<ClientSession>) -> Pair {
    Pair::start(&scene.client, &scene.server, to(session), at(0)).expect("starts")
}

/// Anyone can forge a plaintext close_notify: it never ends a connection without an error.
#[test]
fn a_close_notify_in_plaintext_ends_nothing_in_peace() {
    let scene = scene();
    let session = scene.session();
    let mut pair = start(&scene, session);
    pair.client_to_server();
    pair.deliver_to_server(&[21, 3, 3, 0, 2, 1, 0]);
    assert!(!pair.to_server.closed);
    let alert = pair.to_server.error.and_then(|error| error.alert());
    assert_eq!(alert, Some(AlertDescription::UNEXPECTED_MESSAGE));
    assert!(pair.server.end_of_stream().is_err());
}

/// A close_notify during a handshake is not an orderly end.
#[test]
fn a_close_notify_during_the_handshake_is_an_error() {
    let scene = scene();
    let mut pair = start(&scene, None);
    // Before the ClientHello: nothing is protected yet.
    pair.deliver_to_server(&[21, 3, 3, 0, 2, 1, 0]);
    let closed = Some(Error::AlertReceived(AlertDescription::CLOSE_NOTIFY));
    assert_eq!(pair.to_server.error, closed);
    assert!(!pair.to_server.closed);
}

/// A stream that ends without close_notify ends the connection like any other error: no early data may be
/// written any more, and nothing is sent.
#[test]
fn nothing_is_sent_after_the_end_of_the_stream() {
    let scene = scene();
    let session = scene.session();
    let mut pair = start(&scene, session);
    assert!(pair.client.early_data_room() > 0);
    assert_eq!(pair.client.end_of_stream(), Err(Error::Truncated));
    assert_eq!(pair.client.early_data_room(), 0);
    let written = pair.client.write_early_data(b"early", &mut pair.client_output);
    assert_eq!(written, Err(Error::Truncated));
    pair.intercept_client();
    pair.client.close(&mut pair.client_output);
    assert!(pair.client_output.is_empty());
}

/// RFC 8446 §6.1: nothing follows close_notify, not even a change_cipher_spec.
#[test]
fn a_server_that_closes_before_the_hello_sends_nothing_more() {
    let scene = scene();
    let mut pair = start(&scene, None);
    pair.server.close(&mut pair.server_output);
    pair.client_to_server();
    assert_eq!(pair.intercept_server(), [21, 3, 3, 0, 2, 1, 0]);
}

/// Each direction's secrets are dropped at its end, and the exporter's with the last: while one is open, both
/// ends can still bind something to the connection.
#[test]
fn a_connection_that_has_ended_in_both_directions_exports_nothing() {
    let scene = scene();
    let mut pair = start(&scene, None);
    pair.run();
    let mut first = [0; 32];
    let mut second = [0; 32];
    pair.client.close(&mut pair.client_output);
    pair.run();
    assert!(pair.to_server.closed);
    pair.client.export_keying_material(b"label", b"", &mut first).expect("one direction is open");
    pair.server.export_keying_material(b"label", b"", &mut second).expect("one direction is open");
    assert_eq!(first, second);
    pair.server_write(b"still here");
    pair.run();
    assert_eq!(pair.to_client.data, b"still here");
    pair.server.close(&mut pair.server_output);
    pair.run();
    assert!(pair.to_client.closed);
    for result in [
        pair.client.export_keying_material(b"label", b"", &mut first),
        pair.server.export_keying_material(b"label", b"", &mut second),
    ] {
        assert_eq!(result, Err(Error::Closed));
    }
    assert!(pair.client.facts().handshake_complete && pair.server.facts().handshake_complete);
}
