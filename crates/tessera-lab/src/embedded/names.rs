//! Names in a report, which may have been changed.

use std::collections::HashSet;

use crate::experiment::limits::CheckResult;

/// The longest name, in bytes.
const NAME: usize = 48;

/// Checks that names are printable, not too long, and occur once.
pub(super) fn once<'n, const N: usize>(
    what: &str,
    names: impl Iterator<Item = [&'n str; N]> + Clone,
) -> CheckResult {
    printable(what, names.clone().flatten())?;
    let mut seen = HashSet::new();
    for name in names {
        if name.iter().any(|part| part.len() > NAME) {
            return Err(format!("{what} have a name of more than {NAME} bytes"));
        }
        if !seen.insert(name) {
            return Err(format!("{what} have {} twice", name.join(", ")));
        }
    }
    Ok(())
}

/// Checks that no name has control characters, which a terminal would obey.
pub(super) fn printable<'n>(what: &str, mut names: impl Iterator<Item = &'n str>) -> CheckResult {
    if names.any(|name| name.is_empty() || name.contains(char::is_control)) {
        return Err(format!("{what} have a name that can't be printed"));
    }
    Ok(())
}
