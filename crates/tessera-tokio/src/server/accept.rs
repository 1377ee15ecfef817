//! Accepts connections, retrying after errors.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::time::sleep;

/// Accepts until there is a connection. Out of files or memory it pauses for longer and longer: the
/// connection stays in the listener's queue, and an immediate retry would fail the same way.
pub(super) async fn accept<T, F: Future<Output = io::Result<T>>>(
    accept: impl Fn() -> F,
    failed: impl Fn(),
) -> T {
    let mut pause = SHORTEST_PAUSE;
    loop {
        match accept().await {
            Ok(accepted) => return accepted,
            Err(error) if left(&error) => (),
            Err(_) => {
                failed();
                sleep(pause).await;
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Whether the client left before it was accepted, which doesn't concern the others.
fn left(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_system_without_files_is_asked_again_after_longer_and_longer_pauses() {
        let (asked, failed) = (Cell::new(0), Cell::new(0));
        let started = Instant::now();
        let answer = accept(
            || async {
                asked.set(asked.get() + 1);
                match asked.get() {
                    // EMFILE and ENFILE have no `ErrorKind`.
                    1..=10 => Err(io::Error::from_raw_os_error(24)),
                    11..=20 => Err(ErrorKind::ConnectionAborted.into()),
                    _ => Ok("connection"),
                }
            },
            || failed.set(failed.get() + 1),
        )
        .await;
        assert_eq!(answer, "connection");
        assert_eq!(failed.get(), 10);
        // 5 + 10 + ... + 640 ms, then a second each.
        assert_eq!(started.elapsed(), Duration::from_millis(1275 + 2 * 1000));
    }
}
