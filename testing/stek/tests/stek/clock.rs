//! Two hosts whose clocks differ by five minutes.

use std::time::Instant;

use tessera_stek_tests::{Sidecar, shared_file, until};
use tessera_test_peers::{Clock, PATIENCE};

use crate::pool::Pool;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_cross_while_a_clock_is_as_wrong_as_the_skew_allows() {
    let pool = start("5m", "1h").await;
    let [a, b] = pool.servers.each_ref().map(|server| server.address);
    let canary = pool.fleet.canary();
    let mut sealing = None;
    for round in 0..6 {
        until("both servers seal with the same new key", || {
            pool.sealing().is_some() && pool.sealing() != sealing
        })
        .await;
        until("all is well", || pool.is_well()).await;
        sealing = pool.sealing();
        assert!(pool.tickets_cross().await);
        let earlier = [canary.ticket(a).await.unwrap(), canary.ticket(b).await.unwrap()];
        pool.rotate(round % 2);
        for (ticket, other) in earlier.into_iter().zip([b, a]) {
            assert!(canary.resumes(other, ticket).await.unwrap(), "over rotation {round}");
        }
    }
}

/// Each host's keys are of the past or of the future to the other one: without the wrong clock all tickets would cross.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_wrong_by_more_than_the_skew_fails_no_handshake() {
    let pool = start("1s", "2s").await;
    let addresses = pool.servers.each_ref().map(|server| server.address);
    let mut sealed = [Vec::new(), Vec::new()];
    let start = Instant::now();
    while sealed.iter().any(|keys| keys.len() < 3) {
        assert!(start.elapsed() < PATIENCE, "both hosts rotate");
        for (keys, mut held) in sealed.iter_mut().zip(pool.keys()) {
            let sealing = held.swap_remove(1);
            if keys.last() != Some(&sealing) {
                keys.push(sealing);
            }
        }
        for from in addresses {
            for to in addresses {
                // Resumed or not, both handshakes succeed.
                pool.fleet.crosses(from, to).await;
            }
        }
    }
    until("the canaries report it", || !pool.sidecars.iter().any(Sidecar::is_well)).await;
    for status in pool.statuses() {
        assert!(status.contains("\"result\":\"full\""), "{status}");
    }
}

/// Starts a pool with one store. The clock of the second sidecar is ahead.
async fn start(clock_skew: &str, rotate_every: &str) -> Pool {
    let mut pool = Pool::new(rotate_every, |fleet, files, ca| {
        let [serve, reach, _] = shared_file(&fleet.pki, files, ca);
        [serve, reach]
    });
    pool.sidecars.iter_mut().for_each(|sidecar| sidecar.set_clock_skew(clock_skew));
    pool.sidecars[1].set_clock(Clock::off_by(5 * 60));
    pool.start().await;
    pool
}
