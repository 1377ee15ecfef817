//! Waiting for what another process does.

use std::time::{Duration, Instant};

use tokio::time::sleep;

/// How long anything may take, a lease of five seconds included, on a machine that does other work too. Only failures wait for
/// it.
pub const LONG: Duration = Duration::from_secs(40);

/// Waits until a condition holds.
#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let place = std::panic::Location::caller();
    let mut is_so = is_so;
    async move {
        let deadline = Instant::now() + LONG;
        while !is_so() {
            assert!(Instant::now() < deadline, "waited in vain at {place}: {what}");
            sleep(Duration::from_millis(5)).await;
        }
    }
}
