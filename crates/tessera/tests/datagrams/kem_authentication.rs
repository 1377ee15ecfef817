//! Authentication with a KEM over datagrams (docs/kem-auth.md §8), where the last flight is the server's.

use std::time::Duration;

use tessera::{AssociationOptions, Error, Role};
use tessera_harness::{DatagramPair, Mode, Scene, lossless};

use crate::world::{DELAY, is_connected, scene, start};

/// Returns a pair whose client has sent its Finished, which hasn't arrived.
pub(crate) fn before_last_flight(scene: &Scene) -> DatagramPair {
    let mut pair = start(scene, AssociationOptions::default(), lossless(DELAY));
    while !pair.client.facts().server_is_implicit {
        pair.pass(DELAY / 4);
    }
    assert!(!pair.to_server.complete && !pair.to_client.complete);
    pair
}

#[test]
fn data_waits_for_the_servers_finished_except_by_a_policy() {
    for early in [false, true] {
        let mut scene = scene(Mode::Kem);
        scene.client.data_to_implicitly_authenticated_servers = early;
        let mut pair = before_last_flight(&scene);
        assert!(pair.client.facts().peer.is_none());
        assert_eq!(pair.write(Role::Client, b"request").is_ok(), early);
        pair.pass(DELAY);
        assert!(!pair.to_client.complete);
        assert_eq!(pair.to_server.data, if early { b"request".to_vec() } else { Vec::new() });
        pair.pass(DELAY);
        is_connected(&mut pair, if early { "early" } else { "after Finished" });
    }
}

/// RFC 9147 §5.8.1, with the sides exchanged.
#[test]
fn the_servers_last_flight_is_acknowledged_again_by_a_client_that_sleeps_meanwhile() {
    for mode in [Mode::Kem, Mode::KemMutual] {
        let mut pair = before_last_flight(&scene(mode));
        pair.link = Box::new(|sender, _, _| match sender {
            Role::Client => Vec::new(),
            Role::Server => vec![DELAY],
        });
        pair.pass(DELAY * 3);
        assert!(pair.to_client.complete, "{mode:?}");
        let acknowledged = pair.sent[Role::Client as usize].len();
        pair.pass(Duration::from_secs(3));
        assert!(pair.server.resent() > 0 && !pair.server.sleep(pair.now()), "{mode:?}");
        assert!(pair.sent[Role::Client as usize].len() > acknowledged, "{mode:?}");
        assert!(pair.client.sleep(pair.now()), "{mode:?}");
        pair.link = lossless(DELAY);
        pair.pass(Duration::from_secs(10));
        assert!(pair.server.sleep(pair.now()), "{mode:?}");
        is_connected(&mut pair, &format!("{mode:?}"));
    }
}

/// It is complete, and can't know that its client is not.
#[test]
fn a_server_whose_last_flight_never_arrives_gives_up() {
    let mut pair = before_last_flight(&scene(Mode::Kem));
    pair.link = Box::new(|sender, _, _| match sender {
        Role::Client => vec![DELAY],
        Role::Server => Vec::new(),
    });
    pair.run_for(Duration::from_secs(600));
    assert!(pair.to_server.complete);
    assert_eq!(pair.to_server.error, Some(Error::TimedOut));
    assert_eq!(pair.to_client.error, Some(Error::TimedOut));
}
