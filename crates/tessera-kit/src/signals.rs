//! When the program is asked to end, or to load its files again.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::ProgramError;

/// Waits for Ctrl-C or SIGTERM. From the first call on neither ends the process by itself.
///
/// # Errors
/// If the process can't have handlers of signals.
pub fn asked_to_end() -> Result<impl Future<Output = ()>, ProgramError> {
    let mut interrupt = of_kind(SignalKind::interrupt())?;
    let mut terminate = of_kind(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
    })
}

/// SIGHUP, by which a program is asked to load its files again. From [`new`](Self::new) on it doesn't end the
/// process: neither does the end of the terminal that it was started from.
#[derive(Debug)]
pub struct Hangups(Signal);

impl Hangups {
    /// Waits for them from now on.
    ///
    /// # Errors
    /// If the process can't have handlers of signals.
    pub fn new() -> Result<Self, ProgramError> {
        of_kind(SignalKind::hangup()).map(Self)
    }

    /// The next one. Several that come while nobody waits are one.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            // No more can come: whoever waits has nothing to do.
            std::future::pending::<()>().await;
        }
    }
}

fn of_kind(kind: SignalKind) -> Result<Signal, ProgramError> {
    signal(kind).map_err(|error| ProgramError::failed("signals", error))
}
