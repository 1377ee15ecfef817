//! The loss of a peer is detected without a request to it, and so is its return.

use std::time::{Duration, Instant};

use tessera_sepp_tests::{HOME, Words, World};
use tessera_test_peers::wait_until;

use crate::SEPP;

/// Returns how long the visited network's SEPP takes to see the other in this state.
#[track_caller]
fn seen(world: &World, state: &str, within: Duration) {
    let begun = Instant::now();
    wait_until(&format!("{HOME} to be {state}"), || world.visited.is(HOME, state).then_some(()));
    let took = begun.elapsed();
    println!("{state} after {:.1} s", took.as_secs_f64());
    assert!(took < within, "{state} after {took:?}\n{}", world.output());
    let is_reachable = u64::from(state == "reachable");
    let of_home = [&*format!("peer=\"{HOME}\"")];
    assert_eq!(world.visited.metric("sepp_n32f_reachable", &of_home), is_reachable);
    assert!(world.visited.is(HOME, "established"), "the association holds on");
    let status = if is_reachable == 1 { "HTTP/1.1 200" } else { "HTTP/1.1 503" };
    wait_until(&format!("/readyz to answer {status}"), || {
        let answer = world.visited.admin("GET", "/readyz")?;
        answer.starts_with(status).then_some(())
    });
}

#[test]
fn a_peer_that_is_killed_shows_within_15_seconds_and_is_back_within_5() {
    let mut world = World::start(SEPP, Words::default());
    seen(&world, "reachable", Duration::from_secs(15));
    world.home[0].kill();
    seen(&world, "unreachable", Duration::from_secs(15));
    let peers = world.visited.admin("GET", "/peers").unwrap();
    assert!(peers.contains("\"reason\": \"127.0.0.1:"), "{peers}");
    world.home[0].start();
    seen(&world, "reachable", Duration::from_secs(5));
    let log = world.visited.process().output();
    for state in ["unreachable", "reachable"] {
        let event = format!("\"event\":\"n32f_reach\",\"peer\":\"{HOME}\",\"state\":\"{state}\"");
        assert!(log.contains(&event), "{event}\n{log}");
    }
}

/// Another server has taken over its address.
#[test]
fn a_certificate_that_is_refused_shows_within_a_dial() {
    let mut world = World::start(SEPP, Words::default());
    seen(&world, "reachable", Duration::from_secs(15));
    world.home[0].kill();
    world.home[0].directory.write("sepp.pem", world.third_ca.issue(HOME).both_pem());
    world.home[0].start();
    seen(&world, "unreachable", Duration::from_secs(15));
    let rejected = || {
        let peers = world.visited.admin("GET", "/peers")?;
        peers.contains("the peer is not accepted").then_some(())
    };
    wait_until("the reason to be the certificate", rejected);
}
