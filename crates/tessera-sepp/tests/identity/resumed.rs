//! Everything that was judged at the first connection is judged again on resumption, at both ends.

use tessera::wire::AlertDescription;
use tessera_sepp::reconnection::Mode;

use crate::world::{HOME, Sepp, VISITED, World, meet};
use tessera_pki::Authority;

const EARLY: &str = "early-data = \"fs\"";

/// A change between two connections at one end, which knows the other by this name.
type Change = fn(&World, &Sepp);

/// Returns changes, and the result at the end that changed: a full handshake, or its alert.
fn changes() -> Vec<(&'static str, Change, Option<AlertDescription>)> {
    vec![
        ("the association is terminated", |_, end| end.associations.terminate(end.peer()), None),
        (
            "the association is another one",
            |_, end| end.associations.establish(end.peer(), 2, end.n32c_certificate()),
            None,
        ),
        (
            "N32-c speaks for fewer networks",
            |_, end| {
                let mut certificate = end.n32c_certificate();
                certificate.plmns = ["001-03".parse().unwrap()].into_iter().collect();
                end.associations.establish(end.peer(), 1, certificate);
            },
            Some(AlertDescription::ACCESS_DENIED),
        ),
        (
            "another certificate was revoked",
            |world, end| {
                end.write(&format!("{}.crl", end.anchor()), end.authority(world).revoking(&[99]));
                end.reload(end.words(world));
            },
            None,
        ),
        (
            "the peer was revoked",
            |world, end| {
                end.write(&format!("{}.crl", end.anchor()), end.authority(world).revoking(&[7]));
                end.reload(end.words(world));
            },
            Some(AlertDescription::CERTIFICATE_REVOKED),
        ),
        (
            "the anchor has another root",
            |world, end| {
                let other = Authority::new("another");
                end.write(&format!("{}.pem", end.anchor()), other.pem());
                end.write(&format!("{}.crl", end.anchor()), other.revoking(&[]));
                end.reload(end.words(world));
            },
            Some(AlertDescription::UNKNOWN_CA),
        ),
        (
            "the peer is pinned to another certificate",
            |world, end| {
                let mut words = end.words(world).clone();
                let table = format!("pins = [\"{}\"]\n", "07".repeat(32));
                words.peers[0].2 = table + &words.peers[0].2;
                end.reload(&words);
            },
            Some(AlertDescription::ACCESS_DENIED),
        ),
        (
            "this SEPP has another certificate",
            |world, end| {
                end.write(
                    "own.pem",
                    end.own_authority(world).issue_numbered(end.name(), 7).both_pem(),
                );
                end.reload(end.words(world));
            },
            None,
        ),
        (
            "tickets last shorter",
            |world, end| {
                let mut words = end.words(world).clone();
                words.peers[0].2 += "ticket-lifetime = \"1h\"\n";
                end.reload(&words);
            },
            None,
        ),
        (
            "the peer may not resume",
            |world, end| {
                let mut words = end.words(world).clone();
                words.peers[0].2 =
                    format!("[peer.{}.reconnection]\nresume = false\n", end.anchor());
                end.reload(&words);
            },
            None,
        ),
    ]
}

/// The client checks nothing: the server does.
#[tokio::test]
async fn a_server_resumes_nothing_that_does_not_count_any_more() {
    for (what, change, alert) in changes() {
        let world = World::associated(EARLY).await;
        let client = world.visited.careless(HOME, |_| ());
        come_back(&client, &world).await;
        change(&world, &world.home);
        let met = meet(&client, HOME, world.home.n32f(), b"early").await;
        assert_eq!(met.read, b"", "{what}");
        match alert {
            None => assert_eq!(met.mode(), Mode::Full, "{what}"),
            alert => assert_eq!(met.server_alert(), alert, "{what}: {:?}", met.server),
        }
    }
}

/// The server has not changed, and would resume: the client doesn't offer it.
#[tokio::test]
async fn a_client_offers_nothing_that_does_not_count_any_more() {
    for (what, change, alert) in changes() {
        let world = World::associated(EARLY).await;
        come_back(&world.visited.to(HOME), &world).await;
        change(&world, &world.visited);
        let met = meet(&world.visited.to(HOME), HOME, world.home.n32f(), b"early").await;
        assert_eq!(met.read, b"", "{what}");
        match alert {
            None => assert_eq!(met.mode(), Mode::Full, "{what}"),
            alert => assert_eq!(met.client_alert(), alert, "{what}: {:?}", met.client),
        }
    }
}

/// Makes a full handshake, and a connection with early data: later changes meet a valid ticket.
async fn come_back(client: &tessera_tokio::Connector, world: &World) {
    let met = meet(client, HOME, world.home.n32f(), b"early").await;
    assert_eq!(met.mode(), Mode::Full);
    let met = meet(client, HOME, world.home.n32f(), b"early").await;
    assert_eq!((met.mode(), &met.read[..]), (Mode::ForwardSecretEarlyData, &b"early"[..]));
}

/// A peer that was removed from the configuration; its tickets identify no peer.
#[tokio::test]
async fn the_tickets_of_a_peer_that_left_are_nobodys() {
    let world = World::associated(EARLY).await;
    let client = world.visited.careless(HOME, |_| ());
    come_back(&client, &world).await;
    let mut words = world.home_words.clone();
    words.peers.remove(0);
    assert_eq!(world.home.reload(&words), [crate::world::fqdn(VISITED)]);
    let met = meet(&client, HOME, world.home.n32f(), b"early").await;
    // No anchor is left for its network.
    assert_eq!(met.server_alert(), Some(AlertDescription::UNKNOWN_CA));
    assert_eq!(met.read, b"");
}

/// Changes to one peer don't affect another.
#[tokio::test]
async fn others_come_back_as_before() {
    let world = World::associated(EARLY).await;
    let third = world.third.to(HOME);
    assert_eq!(meet(&third, HOME, world.home.n32f(), b"").await.mode(), Mode::Full);
    world.home.write("visited.crl", world.visited_ca.revoking(&[99]));
    assert_eq!(world.home.reload(&world.home_words), [crate::world::fqdn(VISITED)]);
    assert_eq!(meet(&third, HOME, world.home.n32f(), b"").await.mode(), Mode::PskDheKe);
}
