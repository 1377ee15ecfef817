//! What all reports must be.

use std::collections::HashSet;

use crate::experiment::limits::CheckResult;

/// Refuses the report of another experiment.
pub(super) fn is_of(expected: &str, experiment: &str) -> CheckResult {
    if experiment == expected {
        return Ok(());
    }
    Err(format!("it is of the experiment `{experiment}`, not of `{expected}`"))
}

/// Refuses a name that occurs twice.
pub(super) fn once(mut names: impl Iterator<Item = String>) -> CheckResult {
    let mut seen = HashSet::new();
    match names.find(|name| !seen.insert(name.clone())) {
        Some(name) => Err(format!("{name} occurs twice")),
        None => Ok(()),
    }
}
