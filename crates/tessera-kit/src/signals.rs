//! When the program is asked to end.

use tokio::signal::unix::{SignalKind, signal};

use crate::error::ProgramError;

/// Waits for Ctrl-C or SIGTERM. From the first call on neither ends the process by itself.
///
/// # Errors
/// If the process can't have handlers of signals.
pub fn asked_to_end() -> Result<impl Future<Output = ()>, ProgramError> {
    let of_kind = |kind| signal(kind).map_err(|error| ProgramError::failed("signals", error));
    let mut interrupt = of_kind(SignalKind::interrupt())?;
    let mut terminate = of_kind(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
    })
}
