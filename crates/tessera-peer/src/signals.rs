//! When the program is asked to end.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Waits for Ctrl-C or SIGTERM. From the first call on neither ends the process by itself.
pub(crate) fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
    })
}
