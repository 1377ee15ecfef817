//! A server whose randomness fails for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tessera::crypto::{Random, RandomFailed};
use tessera_endpoint::{EndpointOptions, Route};
use tessera_harness::{Mode, Scene};
use tessera_null_provider::provider;

use crate::resets::with_key;
use crate::world::{TRIP, World, address};

/// Has no connection IDs and cookies while it fails, and one number for all associations.
#[derive(Default)]
struct Faulty {
    fails: AtomicBool,
}

impl Faulty {
    fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::Relaxed);
    }
}

impl Random for Faulty {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        match out.len() {
            5 => out.fill(7),
            8 if self.fails.load(Ordering::Relaxed) => return Err(RandomFailed),
            _ => return provider().random.fill(out),
        }
        Ok(())
    }
}

fn faulty(options: EndpointOptions) -> (World, &'static Faulty) {
    let random = Box::leak(Box::<Faulty>::default());
    let mut scene = Scene::new(provider(), Mode::Full);
    scene.server.provider.random = random;
    (World::of(scene, options), random)
}

/// The number of an association that could not begin is free.
#[test]
fn a_client_gets_in_once_there_is_randomness_again() {
    let (mut world, random) = faulty(with_key(1));
    random.fail(true);
    let client = world.connect(1000, None);
    world.pass(TRIP * 6);
    assert!(world.endpoint.is_empty() && world.endpoint.counts().refused_hellos > 0);
    random.fail(false);
    world.pass(TRIP * 200);
    world.is_connected(client);
}

/// The end of one would be the other's in what the endpoint may reset.
#[test]
fn no_two_associations_have_one_number() {
    let (mut world, _) = faulty(with_key(1));
    world.connect(1000, None);
    world.pass(TRIP * 20);
    world.is_connected(0);
    world.connect(1001, None);
    world.pass(TRIP * 20);
    assert_eq!(world.endpoint.len(), 1);
    let [id] = world.endpoint.ids()[..] else { panic!("one") };
    world.endpoint.remove(id);
    world.pass(TRIP * 200);
    world.is_connected(1);
}

/// A timer that expires again and again takes the processor.
#[test]
fn a_challenge_that_can_not_be_sent_is_not_due_all_the_time() {
    for is_closed in [false, true] {
        let (mut world, random) = faulty(EndpointOptions::default());
        let client = world.connect(1000, None);
        // Until it may be idle.
        world.pass(Duration::from_secs(600));
        world.is_connected(client);
        world.clients[client].address = address(1001);
        let route = world.client_writes(client, b"x");
        let Route::Association(id) = route else { panic!("{route:?}") };
        match is_closed {
            true => _ = world.endpoint.with(id, |association| association.close()),
            false => random.fail(true),
        }
        for _ in 0..100 {
            world.pass(TRIP / 2);
            let now = world.now().monotonic;
            assert!(world.endpoint.deadline().is_none_or(|at| at > now), "closed: {is_closed}");
        }
        assert_eq!(world.endpoint.counts().paths_refuted, 1);
    }
}
