//! Reloads: all files or none, and the effect on open connections.

use tessera_sepp::reconnection::{IdentityRefusal, Mode};

use crate::world::{HOME, VISITED, World, fqdn, meet};
use tessera_pki::Authority;

#[tokio::test]
async fn a_reload_that_fails_changes_nothing() {
    let world = World::associated("").await;
    let client = world.visited.to(HOME);
    assert_eq!(meet(&client, HOME, world.home.n32f(), b"").await.mode(), Mode::Full);
    for (file, text, told) in [
        ("visited.pem", "nothing", "[trust.visited] roots"),
        ("visited.crl", &*Authority::new("visited").revoking(&[]), "visited.crl"),
        ("own.pem", &*world.home_ca.issue(VISITED).both_pem(), "[local] fqdn"),
        (
            "own.pem",
            &*world.home_ca.issue_with(&[HOME], |it| it.extended_key_usages.truncate(1)).both_pem(),
            "serverAuth",
        ),
    ] {
        let before = world.home.read(file);
        world.home.write(file, text);
        let error = world.home.fail_to_reload(&world.home_words);
        assert!(error.contains(told) && error.contains(file), "{error}");
        world.home.write(file, &before);
    }
    assert_eq!(world.home.reload(&world.home_words), []);
    assert_eq!(meet(&client, HOME, world.home.n32f(), b"").await.mode(), Mode::PskDheKe);
}

/// Connections continue, and their holders are notified of those that may not.
#[tokio::test]
async fn a_connection_that_goes_on_is_looked_at_again() {
    let world = World::associated("").await;
    let stands = |identity: &_, now| world.home.tls().standing().stands(identity, now);
    let met = meet(&world.visited.to(HOME), HOME, world.home.n32f(), b"").await;
    let visited = met.server.unwrap();
    let met = meet(&world.third.to(HOME), HOME, world.home.n32f(), b"").await;
    let third = world.home.identify(&met.server.unwrap()).identity;
    let identity = world.home.identify(&visited).identity;
    let now = tessera_kit::clock::unix();
    assert_eq!(stands(&identity, now), Ok(()));
    world.home.write("visited.crl", world.visited_ca.revoking(&[7]));
    world.home.reload(&world.home_words);
    assert_eq!(stands(&identity, now), Err(IdentityRefusal::OtherEpoch));
    let again = world.home.tls().standing().identify(&visited);
    assert_eq!(again.err(), Some(IdentityRefusal::OtherEpoch));
    assert_eq!(stands(&third, now), Ok(()));
    let mut words = world.home_words.clone();
    words.peers.remove(1);
    assert_eq!(world.home.reload(&words), [fqdn(crate::world::THIRD)]);
    assert_eq!(stands(&third, now), Err(IdentityRefusal::UnknownPeer));
}

/// Each server remembers replayable early data on its own.
#[tokio::test]
async fn replayable_early_data_is_not_for_a_fleet() {
    let world = World::new("risky-replayable-early-data = true");
    let mut words = world.home_words.clone();
    words.more = "[tickets.fleet]\nring-key = \"ring.key\"\nvault = \"etcd\"\nepoch-keys = \"epochs\"\n\
                  etcd = { endpoints = [\"127.0.0.1:1\"], plaintext-on-private-network = true }\n";
    let error = world.home.fail_to_reload(&words);
    assert!(
        error.starts_with("[peer.visited.reconnection] risky-replayable-early-data: "),
        "{error}"
    );
}

#[tokio::test]
async fn the_ages_of_certificates_are_reported() {
    let world = World::new("");
    let tls = world.home.tls();
    let ages = tls.ages();
    assert_eq!(ages[0].anchor, None);
    // 2100-01-01
    assert_eq!(ages[0].expires_at, 4_102_444_800);
    let anchors: Vec<_> = ages[1..].iter().map(|age| age.anchor.as_deref()).collect();
    assert_eq!(anchors, [Some("third"), Some("visited")]);
}
