//! Requests in first flights, and an adversary who replays them: T11.

use std::collections::HashSet;

use http::Method;
use tessera_sepp_tests::{Words, World};
use tessera_test_peers::between::{Treatment, answers, replay};
use tessera_test_peers::wait_until;

use crate::SEPP;

/// Asks over new connections until a first flight carries the request, and clears the recordings.
#[track_caller]
pub(crate) fn warm_up(world: &World) {
    let before = accepted(world);
    wait_until("a first flight carries the request", || {
        world.cut();
        // While the store of one-time keys has a failure, the fate of a request may be unknown.
        let (name, reply) = world.ask(Method::GET, "am-data");
        assert!([200, 504].contains(&reply.status.as_u16()), "{name}: {reply:?}");
        (accepted(world) > before).then_some(())
    });
    // The answer to a flight may arrive before the connection's tickets; this one arrives after them, so that the next
    // connection has one.
    world.served();
    world.cut();
    world.between.take();
}

/// Returns how many first flights the home network took, at whichever instance.
pub(crate) fn accepted(world: &World) -> u64 {
    let running = world.home.iter().filter(|sepp| sepp.process().is_alive());
    running.map(|sepp| sepp.accepted_early()).sum()
}

/// Replays everything recorded to every running instance. None of it may be processed.
#[track_caller]
pub(crate) fn replay_everywhere(world: &World) {
    world.cut();
    let recorded = world.between.take();
    assert!(!recorded.is_empty());
    let before = world.udm.asked().len();
    for sepp in world.home.iter().filter(|sepp| sepp.process().is_alive()) {
        replay(sepp.places.n32f, &recorded).unwrap();
    }
    // Earlier bytes have arrived when this has.
    world.get();
    assert_eq!(world.udm.asked().len(), before + 1, "{:?}", world.udm.executed_again());
    assert_eq!(world.udm.executed_again(), []);
}

#[test]
fn get_goes_early_and_post_never_and_a_replay_does_nothing() {
    let world = World::start(SEPP, Words::EARLY);
    warm_up(&world);
    let before = accepted(&world);
    let name = world.get_over_new_connection();
    assert_eq!(accepted(&world), before + 1, "{}", world.output());
    assert_eq!(world.udm.executions(&name), 1);
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let end = if method == Method::DELETE { "nothing" } else { "echo" };
        world.cut();
        let (name, reply) = world.ask(method.clone(), end);
        assert!(reply.status.is_success(), "{method}: {reply:?}");
        assert_eq!(world.udm.executions(&name), 1);
        // The client sends nothing more before the server has answered, which never happens.
        world.between.treat(Treatment::CutAnswers);
        world.cut();
        let (name, reply) = world.ask(method.clone(), end);
        assert_eq!(reply.status, 504, "{method}: {reply:?}");
        assert_eq!(world.udm.executions(&name), 0, "{method} went early");
        world.between.treat(Treatment::Carry);
        world.served();
    }
    let burst: HashSet<_> = (0..3).map(|_| world.get_over_new_connection()).collect();
    replay_everywhere(&world);
    assert!(burst.iter().all(|name| world.udm.executions(name) == 1));
}

/// Whether its tickets and one-time keys survive it or not.
#[test]
fn a_sepp_that_was_killed_processes_no_flight_of_its_earlier_life() {
    for keeps in [false, true] {
        let mut world = World::start(SEPP, Words { keeps, ..Words::EARLY });
        warm_up(&world);
        for _ in 0..3 {
            world.get_over_new_connection();
        }
        // One that never arrived: its key was not taken.
        world.between.treat_next(Treatment::KeepBack);
        world.cut();
        let (lost, reply) = world.ask(Method::GET, "am-data");
        assert_eq!(reply.status, 504, "{reply:?}");
        world.served();
        world.cut();
        let recorded = world.between.take();
        world.home[0].kill();
        world.home[0].start();
        let place = world.home().places.n32f;
        let before = world.udm.asked().len();
        replay(place, &recorded).unwrap();
        let after = world.udm.asked().len();
        // At most the one that was never processed.
        assert_eq!(after - before, world.udm.executions(&lost), "keeps: {keeps}");
        world.associated();
        world.served();
        replay(place, &recorded).unwrap();
        world.get();
        assert_eq!(world.udm.executed_again(), [], "keeps: {keeps}");
        warm_up(&world);
    }
}

/// A flight that the adversary doubles, or sends ahead: the function processes it once, whichever was first, and the
/// visited network's function gets an error if its fate is unknown.
#[test]
fn a_doubled_flight_is_processed_once() {
    let world = World::start(SEPP, Words::EARLY);
    for treatment in [Treatment::Double, Treatment::CopyFirst, Treatment::CutAnswers] {
        for _ in 0..2 {
            warm_up(&world);
            world.between.treat_next(treatment);
            let (name, reply) = world.ask(Method::GET, "am-data");
            let times = world.udm.executions(&name);
            match reply.status.as_u16() {
                200 => assert_eq!(times, 1, "{treatment:?}"),
                504 => assert!(times <= 1, "{treatment:?}"),
                status => panic!("{treatment:?}: {status}: {reply:?}\n{}", world.output()),
            }
            let is_early = treatment == Treatment::CutAnswers || treatment == Treatment::CopyFirst;
            // The adversary's copy was the one that was processed.
            assert!(!is_early || times == 1, "{treatment:?}: {}", world.output());
            replay_everywhere(&world);
        }
    }
    assert_eq!(world.visited.metric("sepp_repeated_requests_total", &[]), 0);
}

/// A request that its own SEPP repeats is counted there, and is the only one processed twice.
#[test]
fn a_get_that_is_repeatable_is_sent_once_more_and_counted_apart() {
    let visited = "[peer.home.reconnection]\nearly-data = \"fs\"\n\
                   repeatable = [\"GET /nudm-sdm/*\"]\n";
    let world = World::start(SEPP, Words { visited, ..Words::EARLY });
    let repeated = || world.visited.metric("sepp_repeated_requests_total", &[]);
    for treatment in [Treatment::CopyFirst, Treatment::KeepBack] {
        warm_up(&world);
        let before = repeated();
        world.between.treat_next(treatment);
        let (name, reply) = world.ask(Method::GET, "am-data");
        assert_eq!(reply.status, 200, "{treatment:?}: {reply:?}\n{}", world.output());
        assert_eq!(repeated(), before + 1, "{treatment:?}");
        world.cut();
        for recorded in world.between.take() {
            answers(world.home().places.n32f, &recorded.first).unwrap();
        }
        world.get();
        // Once for each time that its own SEPP sent it, and not once more.
        assert_eq!(world.udm.executions(&name), 2, "{treatment:?}");
    }
    assert_eq!(repeated(), 2);
    assert_eq!(world.udm.executed_again().len(), 2);
}

/// Many concurrent requests when all connections must be rebuilt.
#[test]
fn many_at_once_are_each_processed_once() {
    let world = World::start(SEPP, Words::EARLY);
    warm_up(&world);
    for _ in 0..3 {
        world.cut();
        std::thread::scope(|scope| {
            for _ in 0..30 {
                scope.spawn(|| {
                    let (name, reply) = world.ask(Method::GET, "am-data");
                    assert_eq!(reply.status, 200, "{name}: {reply:?}");
                    assert_eq!(world.udm.executions(&name), 1);
                });
            }
        });
    }
    replay_everywhere(&world);
}

/// A request lost with its connection is repeated only if it is repeatable.
#[test]
fn a_request_lost_on_the_way_is_not_sent_again() {
    let world = World::start(SEPP, Words::EARLY);
    warm_up(&world);
    for method in [Method::GET, Method::POST] {
        let before = world.udm.asked().len();
        let (name, reply) = std::thread::scope(|scope| {
            let asks = scope.spawn(|| world.ask(method.clone(), "slow"));
            wait_until("it is under way", || (world.udm.asked().len() > before).then_some(()));
            world.cut();
            asks.join().unwrap()
        });
        assert_eq!(reply.status, 504, "{method}: {reply:?}");
        world.served();
        assert_eq!(world.udm.executions(&name), 1, "{method}");
    }
}
