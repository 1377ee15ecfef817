//! Parts of demonstrations.

mod adversary;
mod authority;
mod files;
mod operator;
mod trace;

use std::fmt::Display;
use std::sync::Arc;

use tessera_kit::{ProgramError, runtime};

pub use self::adversary::Adversary;
pub use self::authority::Authority;
pub use self::files::Files;
pub use self::operator::{HOME, OperatorIdentity, THIRD, VISITED};
pub use self::trace::{Actor, Outcome, Trace};

/// Options of a demonstration.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoOptions {
    /// Print one JSON object a line instead of the trace.
    pub json: bool,
}

/// Runs a demonstration and prints what happens, as it happens, and the result.
///
/// # Errors
/// If the result is not as it should be, or the demonstration can't be set up.
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
                "the demonstration did not go as expected: see the trace".to_owned(),
            )),
        }
    })
}

/// Returns the error of a demonstration that can't be set up, or broke.
pub fn failed(error: impl Display) -> ProgramError {
    ProgramError::failed("the demonstration", error)
}
