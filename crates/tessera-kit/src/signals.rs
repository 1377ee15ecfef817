//! Signals that ask the program to end or to reload its files.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::ProgramError;

/// Waits for Ctrl-C or SIGTERM. From the first call on, neither kills the process.
///
/// # Errors
/// Returns an error if signal handlers can't be installed.
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

/// SIGHUP, which asks a program to reload its files. From [`new`](Self::new) on it doesn't kill the process,
/// so neither does the end of the terminal that the process was started from.
#[derive(Debug)]
pub struct Hangups(Signal);

impl Hangups {
    /// Installs the handler.
    ///
    /// # Errors
    /// Returns an error if signal handlers can't be installed.
    pub fn new() -> Result<Self, ProgramError> {
        of_kind(SignalKind::hangup()).map(Self)
    }

    /// Waits for the next signal. Signals that arrive between calls are merged into one.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            // No more signals can arrive.
            std::future::pending::<()>().await;
        }
    }
}

fn of_kind(kind: SignalKind) -> Result<Signal, ProgramError> {
    signal(kind).map_err(|error| ProgramError::failed("signals", error))
}
