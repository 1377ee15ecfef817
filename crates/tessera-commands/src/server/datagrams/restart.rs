//! Connections that pass from one process to the next.

use std::time::Duration;

use tessera_kit::report::Report;
use tessera_tokio::{DatagramListener, FrozenAssociation, ThawError};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Reports what became of the previous server's connections.
pub(super) fn report_thawed(found: usize, refused: &[ThawError], report: &Report) {
    if found > 0 {
        report.line(&match found - refused.len() {
            1 => "a connection of the previous server goes on".to_owned(),
            count => format!("{count} connections of the previous server go on"),
        });
    }
    if let Some(why) = refused.first() {
        report.line(&format_args!("{} don't; the first one: {why}", refused.len()));
    }
}

/// Moves out all connections that can, those with messages under way a moment later.
pub(super) async fn freeze(
    listener: &DatagramListener,
    clients: &JoinSet<()>,
) -> Vec<FrozenAssociation> {
    let mut frozen = listener.freeze();
    let _ = timeout(PATIENCE, async {
        while frozen.len() < clients.len() {
            sleep(PAUSE).await;
            frozen.extend(listener.freeze());
        }
    })
    .await;
    frozen
}

/// How long connections with messages under way are waited for, while the others rest.
const PATIENCE: Duration = Duration::from_millis(500);

const PAUSE: Duration = Duration::from_millis(20);
