//! Proxies that are killed, or frozen for longer than their lease, in each state of a move.

use std::time::Duration;

use http::Method;
use tessera_bindings::BindingState;
use tessera_edge_tests::{Drone, Outcome, Pool, PoolSettings, Track, owners, until};
use tokio::time::sleep;

use crate::PROGRAM;

const SERVICE: &str = "/cart";

/// Clients of `a`, each in another state of a move to `b`.
struct Moving {
    pool: Pool,
    preparing: Drone,
    announced: Drone,
    switched: Drone,
    /// It isn't moving.
    stable: Drone,
    /// The requests of the one that has switched go on.
    arriving: Option<Track>,
}

impl Moving {
    /// Brings them there. The next proxy waits for the last changes of the one that has switched, and for the state of the one
    /// that prepares.
    async fn start() -> Self {
        let pool =
            Pool::start(PoolSettings { proxies: &["a", "b", "c"], ..PoolSettings::of(PROGRAM) })
                .await;
        let names = ["preparing", "announced", "switched", "stable"];
        let [preparing, announced, switched, stable] =
            names.map(|name| pool.drone(Some(&format!("{name}.example"))));
        for drone in [&preparing, &announced, &switched, &stable] {
            for _ in 0..3 {
                assert_eq!(drone.post(SERVICE).await.0, Outcome::Answered);
            }
        }
        pool.announce(announced.name(), "b").await;
        pool.announce(switched.name(), "b").await;
        // It learns of the next proxy.
        assert_eq!(switched.post(SERVICE).await.0, Outcome::Answered);
        let [a, b] = [&pool.instances[0], &pool.instances[1]];
        b.hold(Method::PUT, &preparing.seen);
        a.hold(Method::GET, &switched.seen);
        pool.begin(preparing.name(), "b").await;
        until("the state arrives", || b.has_begun(Method::PUT, &preparing.seen)).await;
        let arriving = Some(switched.sends(SERVICE, Duration::from_millis(5)));
        let is_switched = |state: &BindingState| matches!(state, BindingState::Switched { .. });
        pool.is(switched.name(), is_switched).await;
        pool.is(preparing.name(), |it| matches!(it, BindingState::Preparing { .. })).await;
        pool.is(announced.name(), |it| matches!(it, BindingState::Announced { .. })).await;
        Self { pool, preparing, announced, switched, stable, arriving }
    }

    fn all(&self) -> [&Drone; 4] {
        [&self.preparing, &self.announced, &self.switched, &self.stable]
    }

    /// Goes on after a failure: all clients are served again, and each request was executed as often as it should be.
    async fn are_served_again(&mut self) {
        if let Some(arriving) = self.arriving.take() {
            arriving.end().await;
        }
        for instance in &self.pool.instances {
            instance.release();
        }
        let sending = self.all().map(|drone| {
            let drone = drone.clone();
            tokio::spawn(async move {
                for _ in 0..5 {
                    drone.is_served(SERVICE).await;
                }
            })
        });
        for task in sending {
            task.await.unwrap();
        }
        self.agree();
    }

    fn agree(&self) {
        assert_eq!(self.pool.executions.doubled(), []);
        for drone in self.all() {
            drone.agrees();
            let owners = owners(&self.pool.etcd, drone.name());
            let mut earlier: Option<&(u64, String)> = None;
            for owner in &owners {
                let is_later = earlier.is_none_or(|it| it.0 <= owner.0);
                assert!(is_later, "{owners:?}");
                earlier = Some(owner);
            }
            // In a generation one proxy follows its owner, once.
            for (generation, _) in &owners {
                let of_it = owners.iter().filter(|it| it.0 == *generation).count();
                assert!(of_it <= 2, "{owners:?}");
            }
            let mut of_owners: Vec<_> = owners.iter().map(|it| it.1.as_str()).collect();
            of_owners.dedup();
            // Where it was executed, in this order, is where the owners were.
            let mut rest = of_owners.iter();
            let places = self.pool.executions.places(&drone.seen);
            let is_by_owners = places.iter().all(|place| rest.any(|owner| owner == place));
            assert!(is_by_owners, "executed at {places:?}, owned by {of_owners:?}");
        }
    }

    /// The proxy comes back, and clients move to it.
    async fn comes_back(&mut self, name: &'static str) {
        let at = self.pool.index(name);
        self.pool.proxies[at].start();
        self.pool.are_live(&["a", "b", "c"]).await;
        for drone in [&self.preparing, &self.stable] {
            let owner = self.pool.table.binding(drone.name()).unwrap().owner().clone();
            self.pool.moves(drone, if owner.0 == name { "c" } else { name }).await;
        }
        self.are_served_again().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_an_owner_that_is_killed_are_served_again_and_no_request_doubles() {
    let mut moving = Moving::start().await;
    moving.pool.proxies[0].kill();
    moving.are_served_again().await;
    // What `b` had imported is there; the one that was still preparing begins without.
    let b = &moving.pool.instances[1];
    assert!(b.count(&moving.announced.seen) >= 3 + 5);
    moving.comes_back("a").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_move_to_a_proxy_that_is_killed_are_served_again_and_no_request_doubles() {
    let mut moving = Moving::start().await;
    moving.pool.proxies[1].kill();
    moving.are_served_again().await;
    moving.comes_back("b").await;
}

/// A proxy that is frozen for longer than its lease finds its clients elsewhere, and executes nothing of what they sent to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_was_frozen_past_its_lease_executes_nothing_of_clients_that_were_taken_over()
{
    let mut moving = Moving::start().await;
    moving.pool.proxies[0].freeze().await;
    // To the frozen proxy, whose kernel accepts them.
    let late = moving.all().map(|drone| {
        let drone = drone.clone();
        tokio::spawn(async move { drone.post(SERVICE).await })
    });
    let a = tessera_bindings::ProxyName("a".to_owned());
    until("its lease ends", || moving.pool.table.proxy(&a).is_none()).await;
    for drone in [&moving.announced, &moving.switched] {
        // Its second device comes to another proxy.
        let other = moving
            .pool
            .drone_at(Some(drone.seen.trim_start_matches("dns%3A")), &moving.pool.addresses[1..]);
        other.is_served(SERVICE).await;
        other.agrees();
    }
    moving.pool.proxies[0].process().go_on();
    for task in late {
        task.await.unwrap();
    }
    moving.are_served_again().await;
    sleep(Duration::from_millis(100)).await;
    moving.agree();
}
