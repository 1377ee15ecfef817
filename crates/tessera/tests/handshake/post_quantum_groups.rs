//! A server asks for a post-quantum share if both support such a group (RFC 8446 §4.1.4), unless its
//! owner prefers to save the round trip.

use tessera::resume::{Vault, Verdict};
use tessera::wire::NamedGroup;
use tessera_harness::{EARLY_DATA, Mode, Pair, Scene, at};
use tessera_null_provider::provider;

const CLASSICAL: NamedGroup = NamedGroup::X25519;
const HYBRID: NamedGroup = NamedGroup::X25519MLKEM768;

/// A client that supports a post-quantum group, but sends only a classical share.
fn scene(mode: Mode) -> Scene {
    let mut scene = Scene::new(provider(), mode);
    scene.client.groups = vec![CLASSICAL, HYBRID];
    scene.server.groups = vec![HYBRID, CLASSICAL];
    scene
}

fn connected(mut pair: Pair) -> Pair {
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    assert!(pair.to_client.complete && pair.to_server.complete);
    pair
}

fn exchange(pair: &Pair) -> (Option<NamedGroup>, bool) {
    (pair.server.facts().group, pair.server.facts().hello_retry)
}

#[test]
fn a_server_asks_for_a_post_quantum_share_before_it_takes_a_classical_one() {
    for server in [[HYBRID, CLASSICAL], [CLASSICAL, HYBRID]] {
        let mut scene = scene(Mode::Full);
        scene.server.groups = server.to_vec();
        let mut first = connected(scene.pair());
        assert_eq!(exchange(&first), (Some(HYBRID), true));
        // The session remembers the group: the round trip is spent once.
        let session = first.to_client.sessions.pop();
        assert!(session.is_some());
        assert_eq!(exchange(&connected(scene.start(session, at(1)))), (Some(HYBRID), false));
    }
}

#[test]
fn a_server_takes_the_offered_share_if_no_post_quantum_group_is_in_common() {
    let mut scene = scene(Mode::Full);
    scene.client.groups = vec![CLASSICAL];
    assert_eq!(exchange(&connected(scene.pair())), (Some(CLASSICAL), false));
    scene.client.groups = vec![CLASSICAL, HYBRID];
    scene.server.groups = vec![NamedGroup::SECP256R1, CLASSICAL];
    assert_eq!(exchange(&connected(scene.pair())), (Some(CLASSICAL), false));
}

/// The owner's own decision, whose name states what it gives up.
#[test]
fn an_owner_may_spare_the_round_trip() {
    let mut scene = scene(Mode::Full);
    scene.server.classical_key_exchange_to_save_a_round_trip = true;
    assert_eq!(exchange(&connected(scene.pair())), (Some(CLASSICAL), false));
    // A client that sends both shares loses nothing.
    scene.client.groups = vec![HYBRID, CLASSICAL];
    assert_eq!(exchange(&connected(scene.pair())), (Some(HYBRID), false));
}

/// A PSK alone needs no share, so none is asked for.
#[test]
fn a_psk_alone_goes_on_without_a_post_quantum_share() {
    let scene = scene(Mode::PskOnly);
    assert_eq!(exchange(&connected(scene.pair())), (None, false));
}

/// Early data of a client whose session is from a classical exchange ends with the HelloRetryRequest, which
/// precedes the take. The key is burned, so the client may send again; it loses one round trip once.
#[test]
fn early_data_with_a_classical_share_is_refused_once_and_may_be_sent_again() {
    for mode in [Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        let scene = scene(mode);
        let mut session = scene.session();
        if let Some(session) = &mut session {
            session.group = Some(CLASSICAL);
        }
        let keys = scene.vault.len();
        let mut refused = connected(scene.start(session, at(1)));
        assert_eq!(exchange(&refused), (Some(HYBRID), true), "{mode:?}");
        assert_eq!(refused.to_server.early_data, b"", "{mode:?}");
        assert_eq!(refused.to_client.early_data_accepted, Some(false), "{mode:?}");
        if mode != Mode::Replayable {
            assert_eq!(refused.to_client.verdict, Some(Verdict::Burned), "{mode:?}");
            // One was burned, and each new ticket brings one.
            let came = refused.to_client.sessions.len();
            assert_eq!(scene.vault.len(), keys - 1 + came, "{mode:?}");
        }
        let again = connected(scene.start(refused.to_client.sessions.pop(), at(1)));
        assert!(!again.server.facts().hello_retry, "{mode:?}");
        assert_eq!(again.to_server.early_data, EARLY_DATA, "{mode:?}");
    }
}
