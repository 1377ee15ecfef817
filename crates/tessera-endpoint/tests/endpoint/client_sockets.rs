//! A client that goes from one of its sockets to another: what it asks there, how often, and what it forgets.

use std::net::SocketAddr;
use std::time::Duration;

use tessera::AssociationOptions;
use tessera_endpoint::{EndpointOptions, SocketPolicy};

use crate::client_paths::connected;
use crate::nat::NatKind;
use crate::nat_world::{NatWorld, SHARED, following, internal, options};
use crate::world::TRIP;

const FIRST: SocketAddr = internal(0, 0);
const SECOND: SocketAddr = internal(0, 1);
const THIRD: SocketAddr = internal(0, 2);

fn tcs() -> EndpointOptions {
    options(Some(SocketPolicy::Tcs))
}

/// Returns a client to which a socket was announced that doesn't answer.
pub(crate) fn announced_in_vain() -> NatWorld {
    let mut world = NatWorld::new(NatKind::PortRestricted, tcs());
    world.dead = world.sockets.clone();
    world.connect(following(), true);
    world.pass(TRIP * 30);
    assert!(world.echoes(0));
    world
}

/// Does something with the client, at the present time.
fn with(
    world: &mut NatWorld,
    change: impl FnOnce(&mut tessera_endpoint::ClientEndpoint, tessera::Time),
) {
    let now = world.now();
    change(&mut world.clients[0].endpoint, now);
}

fn local(world: &NatWorld) -> Option<SocketAddr> {
    world.clients[0].endpoint.path().local
}

fn uses(world: &NatWorld, socket: SocketAddr) -> bool {
    world.clients[0].endpoint.uses_local(Some(socket))
}

/// Returns how many datagrams left from a socket of the client since `sent_up` was cleared.
fn count_from(world: &mut NatWorld, socket: SocketAddr) -> usize {
    let from = world.nat.leaves(socket, SHARED);
    world.sent_up.iter().filter(|it| it.0 == from).count()
}

/// Returns how many went to sockets of associations.
fn count_to_own(world: &NatWorld) -> usize {
    world.sent_up.iter().filter(|it| it.1 != SHARED).count()
}

/// Lets the client's timers expire at once for a while: one that is due again after it was handled takes the processor.
fn pass_without_haste(world: &mut NatWorld, time: Duration) {
    for _ in 0..time.as_millis() / (TRIP / 2).as_millis() {
        world.pass(TRIP / 2);
        let now = world.now().monotonic;
        let deadline = world.clients[0].endpoint.deadline();
        assert!(deadline.is_none_or(|at| at > now), "due after it was handled");
    }
}

#[test]
fn a_client_that_has_closed_waits_for_its_challenges_time() {
    let mut world = NatWorld::new(NatKind::PortRestricted, tcs());
    world.dead = world.sockets.clone();
    world.connect(following(), true);
    while !world.clients[0].is_complete {
        world.pass(TRIP / 2);
    }
    with(&mut world, |client, _| client.association_mut().close());
    pass_without_haste(&mut world, TRIP * 40);
}

#[test]
fn an_announced_socket_is_asked_three_times_however_much_comes_meanwhile() {
    let mut world = NatWorld::new(NatKind::PortRestricted, tcs());
    world.dead = world.sockets.clone();
    world.connect(following(), true);
    while !world.clients[0].is_complete {
        world.pass(TRIP / 2);
    }
    for _ in 0..40 {
        world.write(0, b"x");
        world.pass(TRIP / 2);
    }
    assert!((1..=3).contains(&count_to_own(&world)), "{}", count_to_own(&world));
}

#[test]
fn a_client_that_moves_follows_from_there() {
    let mut world = announced_in_vain();
    with(&mut world, |client, now| client.use_local(Some(SECOND), now));
    assert!(!uses(&world, FIRST));
    world.dead.clear();
    world.pass(Duration::from_secs(40));
    assert_eq!(local(&world), Some(SECOND));
    assert_ne!(world.clients[0].endpoint.path().remote, SHARED);
    assert!(world.echoes(0));
}

#[test]
fn a_client_that_is_where_it_was_announced_asks_nothing() {
    let mut world = connected(tcs());
    world.sent_up.clear();
    with(&mut world, |client, now| client.note_new_address(now));
    world.pass(TRIP * 8);
    assert_eq!(world.sent_up, []);
}

/// The server's own socket names the association at each socket of the client's.
#[test]
fn a_spare_socket_leads_to_where_the_server_is_now() {
    for policy in [SocketPolicy::Ipc, SocketPolicy::Tcs] {
        let mut world = NatWorld::new(NatKind::FullCone, options(Some(policy)));
        world.connect(following(), true);
        world.clients[0].endpoint.add_spare(Some(SECOND));
        world.pass(TRIP * 30);
        assert!(world.echoes(0) && world.echoes(0));
        let own = world.clients[0].endpoint.path().remote;
        world.dead = vec![FIRST];
        with(&mut world, |client, now| client.suspect_path(now));
        world.pass(TRIP * 4);
        assert_eq!(local(&world), Some(SECOND), "{policy:?}");
        assert_eq!(world.clients[0].endpoint.path().remote, own);
        assert!(world.echoes(0));
        // And nothing asks the shared socket any more.
        world.dead = vec![FIRST, SECOND];
        world.sent_up.clear();
        with(&mut world, |client, now| client.suspect_path(now));
        world.pass(TRIP * 20);
        assert!(!world.sent_up.is_empty() && world.sent_up.iter().all(|it| it.1 == own));
    }
}

/// The lab's, and those of other makers.
#[test]
fn a_client_that_checks_no_paths_moves_at_once_and_stays_otherwise() {
    for policy in [None, Some(SocketPolicy::Tcs)] {
        let mut world = NatWorld::new(NatKind::PortRestricted, options(policy));
        world.connect(AssociationOptions { checks_paths: false, ..following() }, true);
        world.clients[0].endpoint.add_spare(Some(SECOND));
        world.pass(TRIP * 30);
        assert!(world.echoes(0));
        with(&mut world, |client, now| client.suspect_path(now));
        world.write(0, b"into silence");
        pass_without_haste(&mut world, Duration::from_secs(5));
        assert_eq!(world.clients[0].endpoint.path().remote, SHARED);
        assert_eq!(local(&world), Some(FIRST));
        with(&mut world, |client, now| client.replace_local(Some(THIRD), now));
        assert_eq!(local(&world), Some(THIRD), "{policy:?}");
    }
}

#[test]
fn a_client_with_one_socket_seeks_no_other() {
    for mut world in [connected(options(None)), announced_in_vain()] {
        world.dead.push(SHARED);
        with(&mut world, |client, now| client.suspect_path(now));
        world.sent_up.clear();
        world.write(0, b"into silence");
        pass_without_haste(&mut world, TRIP * 40);
        let to_shared = world.sent_up.iter().filter(|it| it.1 == SHARED).count();
        assert_eq!(to_shared, 1, "no challenge");
    }
}

#[test]
fn what_waits_for_an_announced_socket_is_no_socket_to_seek() {
    let mut world = announced_in_vain();
    world.clients[0].endpoint.add_spare(Some(SECOND));
    world.sent_up.clear();
    with(&mut world, |client, now| client.suspect_path(now));
    world.pass(TRIP * 4);
    assert!(count_from(&mut world, SECOND) > 0);
    assert_eq!(count_to_own(&world), 0, "it is asked again in its time");
}

#[test]
fn each_socket_is_asked_three_times_however_often_it_is_given_or_suspected() {
    for replaces in [false, true] {
        let mut world = connected(options(None));
        world.clients[0].endpoint.add_spare(Some(SECOND));
        world.clients[0].endpoint.add_spare(Some(SECOND));
        world.dead = vec![FIRST, SECOND];
        world.sent_up.clear();
        if replaces {
            with(&mut world, |client, now| client.replace_local(Some(SECOND), now));
            world.pass(TRIP / 2);
        } else {
            world.write(0, b"into silence");
        }
        for _ in 0..5 {
            with(&mut world, |client, now| client.suspect_path(now));
            world.pass(TRIP / 2);
        }
        world.pass(TRIP * 20);
        assert_eq!(count_from(&mut world, SECOND), 3, "replaces: {replaces}");
        assert_eq!(count_from(&mut world, FIRST), 3 + usize::from(!replaces), "{replaces}");
    }
}

/// Without data there is nothing to which an answer could come.
#[test]
fn silence_is_sought_once_for_what_was_sent() {
    let mut world = connected(options(None));
    world.clients[0].endpoint.add_spare(Some(SECOND));
    world.sent_up.clear();
    world.pass(Duration::from_secs(30));
    assert_eq!(world.sent_up, []);
    world.dead = vec![FIRST, SECOND];
    world.write(0, b"into silence");
    world.pass(Duration::from_secs(60));
    assert_eq!([FIRST, SECOND].map(|it| count_from(&mut world, it)), [4, 3]);
}

/// Timers of other things expire, too.
#[test]
fn a_timer_changes_nothing_before_its_time() {
    let mut world = connected(options(None));
    world.clients[0].endpoint.add_spare(Some(SECOND));
    world.sent_up.clear();
    world.write(0, b"question");
    world.pass(TRIP / 2);
    with(&mut world, |client, now| client.handle_timeout(now).unwrap());
    world.pass(TRIP * 4);
    assert_eq!(count_from(&mut world, SECOND), 0, "it isn't silent yet");
    // Nor does it end a check of the path in use, which answers first.
    with(&mut world, |client, now| client.suspect_path(now));
    world.pass(TRIP / 2);
    with(&mut world, |client, now| client.handle_timeout(now).unwrap());
    world.pass(TRIP * 4);
    assert_eq!(local(&world), Some(FIRST));
}

#[test]
fn another_address_of_the_socket_gets_the_time_for_an_answer() {
    let mut world = connected(options(None));
    world.clients[0].endpoint.add_spare(Some(SECOND));
    world.dead = vec![FIRST];
    world.sent_up.clear();
    world.write(0, b"into silence");
    let timeout = world.clients[0].endpoint.association().path_timeout();
    world.pass(timeout - TRIP);
    with(&mut world, |client, now| client.note_new_address(now));
    world.write(0, b"again");
    world.pass(TRIP * 2);
    assert_eq!(count_from(&mut world, SECOND), 0);
}

#[test]
fn a_client_that_has_found_a_path_asks_nothing_more() {
    let mut world = connected(options(None));
    world.clients[0].endpoint.add_spare(Some(SECOND));
    world.dead = vec![FIRST];
    with(&mut world, |client, now| client.suspect_path(now));
    while local(&world) != Some(SECOND) {
        world.pass(TRIP / 2);
    }
    world.sent_up.clear();
    world.pass(Duration::from_secs(5));
    assert_eq!(world.sent_up.len(), 1, "the answer to the server's challenge");
}

#[test]
fn sockets_that_are_left_or_gone_are_forgotten() {
    let mut world = connected(options(None));
    world.clients[0].endpoint.add_spare(Some(FIRST));
    world.clients[0].endpoint.add_spare(Some(SECOND));
    with(&mut world, |client, now| client.use_local(Some(SECOND), now));
    assert!(!uses(&world, FIRST) && uses(&world, SECOND));
    with(&mut world, |client, now| client.use_local(Some(THIRD), now));
    assert!(!uses(&world, SECOND));
    world.clients[0].endpoint.add_spare(Some(FIRST));
    world.clients[0].endpoint.add_spare(Some(SECOND));
    with(&mut world, |client, now| assert!(client.remove_local(Some(FIRST), now)));
    assert!(!uses(&world, FIRST) && uses(&world, SECOND));
    assert_eq!(local(&world), Some(THIRD), "it wasn't the one in use");
}

/// RFC 9147 §11.
#[test]
fn another_address_has_another_connection_id() {
    let changes: [fn(&mut tessera_endpoint::ClientEndpoint, tessera::Time); 2] = [
        |client, now| client.note_new_address(now),
        |client, now| client.use_local(Some(SECOND), now),
    ];
    for change in changes {
        let mut world = connected(options(None));
        let id = |world: &mut NatWorld| {
            world.write(0, b"x");
            world.sent_up.last().unwrap().2[1..9].to_vec()
        };
        let before = id(&mut world);
        with(&mut world, change);
        assert_ne!(id(&mut world), before);
    }
}

#[test]
fn a_client_that_returns_to_a_socket_waits_for_it_as_for_any() {
    let mut world = connected(options(None));
    with(&mut world, |client, now| client.replace_local(Some(SECOND), now));
    world.pass(TRIP * 4);
    assert_eq!(local(&world), Some(SECOND));
    world.dead = vec![FIRST];
    with(&mut world, |client, now| client.replace_local(Some(FIRST), now));
    world.pass(Duration::from_secs(3));
    world.dead.clear();
    world.pass(Duration::from_secs(40));
    assert_eq!(local(&world), Some(FIRST));
}

#[test]
fn a_socket_that_is_to_replace_another_does_though_that_was_suspected() {
    let mut world = connected(options(None));
    world.dead = vec![SECOND];
    with(&mut world, |client, now| client.replace_local(Some(SECOND), now));
    with(&mut world, |client, now| client.suspect_path(now));
    world.pass(TRIP);
    assert!(world.echoes(0));
    world.dead.clear();
    world.pass(Duration::from_secs(40));
    assert_eq!(local(&world), Some(SECOND));
}

#[test]
fn a_spare_socket_stays_one_though_it_replaces_none() {
    let mut world = connected(options(None));
    world.clients[0].endpoint.add_spare(Some(SECOND));
    world.dead = vec![SECOND, THIRD];
    for next in [SECOND, THIRD, SECOND] {
        with(&mut world, |client, now| client.replace_local(Some(next), now));
        world.pass(TRIP * 4);
    }
    assert!(uses(&world, SECOND), "it is a spare one");
    assert!(!uses(&world, THIRD), "another replaces it");
    // Nor is it given up with its checks.
    world.pass(Duration::from_secs(200));
    assert!(uses(&world, SECOND));
    world.dead = vec![FIRST];
    with(&mut world, |client, now| client.suspect_path(now));
    world.pass(TRIP * 4);
    assert_eq!(local(&world), Some(SECOND));
}

#[test]
fn a_socket_that_is_left_can_be_kept_as_a_spare_one() {
    let mut world = connected(options(None));
    with(&mut world, |client, now| client.replace_local(Some(SECOND), now));
    world.pass(TRIP * 4);
    assert_eq!(local(&world), Some(SECOND));
    world.clients[0].endpoint.add_spare(Some(FIRST));
    world.pass(Duration::from_secs(5));
    assert!(uses(&world, FIRST));
}

/// As after the machine was suspended.
#[test]
fn a_check_that_pauses_asks_nothing_though_its_timers_were_late() {
    let mut world = connected(options(None));
    with(&mut world, |client, now| client.replace_local(Some(SECOND), now));
    let begun = world.now();
    for late in [10_000, 10_500] {
        let mut now = begun;
        now.monotonic += Duration::from_millis(late);
        world.clients[0].endpoint.handle_timeout(now).unwrap();
        let mut out = Vec::new();
        assert_eq!(world.clients[0].endpoint.transmit(now, &mut out), None, "{late}");
    }
}
