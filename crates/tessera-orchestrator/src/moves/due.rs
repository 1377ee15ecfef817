//! The steps that are due by time.

use std::sync::Arc;
use std::time::Duration;

use tessera_proxy::logging::tracing;
use tokio::time::sleep;

use super::Mover;

/// How often due steps are taken, and by how much it varies: of several orchestrators one usually is first.
const EVERY: Duration = Duration::from_secs(1);
const JITTER: u64 = 500;

/// Takes the steps that are due in the pool, as long as the process runs.
pub(crate) async fn take_due_steps(mover: Arc<Mover>) {
    loop {
        sleep(EVERY + Duration::from_millis(fastrand::u64(..=JITTER))).await;
        if let Err(error) = mover.bindings.take_due_steps(&mover.table).await {
            tracing::warn!("steps that are due were not taken: {error}");
        }
        let clients = mover.table.len();
        mover.metrics.follow(mover.tracker.moving(), mover.waiting(), clients);
    }
}
