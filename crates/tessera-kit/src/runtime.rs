//! The runtime of a program.

use std::num::NonZeroUsize;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::interval;

use crate::error::ProgramError;

/// Runs a program to its end, on all processors.
///
/// # Errors
/// Returns the program's error, or one if no threads can be started.
pub fn run(future: impl Future<Output = Result<(), ProgramError>>) -> Result<(), ProgramError> {
    run_on(None, future)
}

/// Runs a program like [`run`], with this many worker threads; `None` means one for each processor.
///
/// # Errors
/// Returns the program's error, or one if no threads can be started.
pub fn run_on(
    threads: Option<NonZeroUsize>,
    future: impl Future<Output = Result<(), ProgramError>>,
) -> Result<(), ProgramError> {
    let mut builder = match threads.map(NonZeroUsize::get) {
        // Tasks of one thread need no queue that others may take from. They take turns: a task that another one wakes
        // waits until those before it have run, and finds all that they have for it.
        Some(1) => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if let Some(threads) = threads {
        builder.worker_threads(threads.get());
    }
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| ProgramError::failed("the runtime", error))?;
    // A new timer that is earlier than all others wakes the runtime's driver on another thread: on a quiet
    // machine, every handshake's deadline would. This one is earlier still.
    let earliest = runtime.spawn(async {
        let mut interval = interval(Duration::from_secs(1));
        loop {
            interval.tick().await;
        }
    });
    let result = runtime.block_on(future);
    earliest.abort();
    // A read of standard input can't be cancelled; don't wait for it.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}
