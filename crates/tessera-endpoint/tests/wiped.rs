//! An endpoint leaves nothing in memory of associations that moved out.
//!
//! A separate program, because it searches the whole process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

#[path = "endpoint/world.rs"]
#[allow(dead_code, reason = "the endpoint's tests use the rest")]
mod world;

use tessera_endpoint::{EndpointOptions, FrozenAssociation};
use tessera_harness::{Mark, Mode};

use world::{TRIP, World};

#[test]
fn the_secrets_of_an_association_move_and_leave_no_copy() {
    let mut world = World::new(Mode::Full, EndpointOptions::default());
    world.connect(1000, None);
    world.pass(TRIP * 20);
    let mut bytes = world.freeze().pop().unwrap().into_bytes();
    world.restart(EndpointOptions::default());
    // The last are the exporter's secret and both traffic secrets.
    let mark = Mark::new();
    for secret in 0..3 {
        let end = bytes.len() - secret * 33;
        assert_eq!(bytes[end - 33], 32, "its length");
        mark.fill(&mut bytes[end - 32..end]);
    }
    assert!(mark.count() >= 3, "what is there is found");
    let now = world.now();
    let id = world.endpoint.thaw(FrozenAssociation::new(bytes), now).unwrap();
    for _ in 0..3 {
        let frozen = world.endpoint.freeze(id, now).unwrap();
        world.restart(EndpointOptions::default());
        assert_eq!(world.endpoint.thaw(frozen, now), Ok(id));
    }
    assert!(mark.count() >= 3, "it is there");
    let frozen = world.endpoint.freeze(id, now).unwrap();
    drop(frozen);
    // What was thawed and frozen before included: freed memory is searched, too.
    assert_eq!(mark.count(), 0, "dropped, and still in memory");
}
