//! The runtime of a program.

use std::time::Duration;

use crate::error::PeerError;

/// Runs to the end, on all processors.
pub(crate) fn run(future: impl Future<Output = Result<(), PeerError>>) -> Result<(), PeerError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| PeerError::failed("the runtime", error))?;
    let result = runtime.block_on(future);
    // A read of standard input can't be called off, and is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    result
}
