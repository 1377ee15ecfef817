//! What demonstrations stand on.

mod adversary;
mod authority;
mod files;
mod trace;

use std::fmt::Display;
use std::sync::Arc;

use tessera_kit::{ProgramError, runtime};

pub use self::adversary::Adversary;
pub use self::authority::Authority;
pub use self::files::Files;
pub use self::trace::{Actor, Outcome, Trace};

/// What a demonstration is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoOptions {
    /// One JSON object a line instead of the trace.
    pub json: bool,
}

/// Tells a story on standard output while it happens, and what it came to.
///
/// # Errors
/// If it came to nothing good; or if something that it needs can't be had.
pub fn run<O: Outcome>(
    options: &DemoOptions,
    story: impl AsyncFnOnce(&Arc<Trace>) -> Result<O, ProgramError>,
) -> Result<(), ProgramError> {
    let trace = Arc::new(Trace::begin(options.json)?);
    runtime::run(async move {
        let outcome = story(&trace).await?;
        trace.end(&outcome)?;
        match outcome.is_good() {
            true => Ok(()),
            false => Err(ProgramError::Failed(
                "the demonstration did not go as it should: see the trace".to_owned(),
            )),
        }
    })
}

/// What a demonstration needs can't be had, or broke.
pub fn failed(error: impl Display) -> ProgramError {
    ProgramError::failed("the demonstration", error)
}
