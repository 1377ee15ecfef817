//! The ways to reconnect, by peer: what one may use, another on the same listener may not.

use tessera::resume::Continuation;
use tessera_sepp::reconnection::Mode;
use tessera_tokio::Connector;

use crate::world::{ConnectionResult, HOME, World, meet};

/// Connects until there are tickets, and resumes.
async fn twice(client: &Connector, world: &World) -> ConnectionResult {
    let first = meet(client, HOME, world.home.n32f(), b"early").await;
    assert_eq!((first.mode(), &first.read[..]), (Mode::Full, &b""[..]));
    meet(client, HOME, world.home.n32f(), b"early").await
}

#[tokio::test]
async fn by_default_peers_resume_with_a_key_exchange_and_nothing_early() {
    let world = World::associated("").await;
    let met = twice(&world.visited.to(HOME), &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::PskDheKe, &b""[..]));
    // The certificate is that of the full handshake.
    let server = world.home.identify(&met.server.unwrap());
    assert_eq!(server.identity.certificate.plmns.to_string(), "001-01");
    // A client that offers more is refused.
    let eager = world.visited.careless(HOME, |it| {
        it.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
        it.policy.early_data.replayable_without_forward_secrecy = true;
    });
    let met = twice(&eager, &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::PskDheKe, &b""[..]));
}

#[tokio::test]
async fn a_peer_may_send_early_and_another_one_may_not() {
    let world = World::associated("early-data = \"fs\"").await;
    let met = twice(&world.visited.to(HOME), &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::ForwardSecretEarlyData, &b"early"[..]));
    let eager = world.third.careless(HOME, |it| {
        it.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    });
    let met = twice(&eager, &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::PskDheKe, &b""[..]));
}

#[tokio::test]
async fn replayable_early_data_is_accepted_only_from_a_peer_whose_risk_is_named() {
    let world = World::associated("risky-replayable-early-data = true").await;
    // A SEPP sends none.
    let met = twice(&world.visited.to(HOME), &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::PskDheKe, &b""[..]));
    let other = world.visited.careless(HOME, |it| {
        it.policy.early_data.replayable_without_forward_secrecy = true;
    });
    let met = twice(&other, &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::ReplayableEarlyData, &b"early"[..]));
    let eager = world.third.careless(HOME, |it| {
        it.policy.early_data.replayable_without_forward_secrecy = true;
    });
    let met = twice(&eager, &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::PskDheKe, &b""[..]));
    // Allowing one risk doesn't allow the other.
    let world = World::associated("early-data = \"fs\"").await;
    let mut words = world.home_words.clone();
    words.peers[1].2 = "[peer.third.reconnection]\nrisky-replayable-early-data = true\n".to_owned();
    world.home.reload(&words);
    let eager = world.visited.careless(HOME, |it| {
        it.policy.early_data.forward_secret = None;
        it.policy.early_data.replayable_without_forward_secrecy = true;
    });
    let met = twice(&eager, &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::PskDheKe, &b""[..]));
}

#[tokio::test]
async fn a_psk_alone_is_taken_of_a_peer_whose_risk_is_named_and_of_no_other() {
    let world = World::associated("risky-psk-ke = true").await;
    let met = twice(&world.visited.to(HOME), &world).await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::PskKe, &b""[..]));
    let lax = world.third.careless(HOME, |it| it.policy.psk_only_without_forward_secrecy = true);
    assert_eq!(twice(&lax, &world).await.mode(), Mode::Full);
}

#[tokio::test]
async fn a_peer_that_may_not_resume_makes_full_handshakes() {
    let world = World::associated("resume = false").await;
    assert_eq!(twice(&world.visited.to(HOME), &world).await.mode(), Mode::Full);
    let eager = world.visited.careless(HOME, |it| it.policy.resumption = true);
    assert_eq!(twice(&eager, &world).await.mode(), Mode::Full);
    assert_eq!(twice(&world.third.to(HOME), &world).await.mode(), Mode::PskDheKe);
}
