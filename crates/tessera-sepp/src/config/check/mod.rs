//! Contradictions. A setting that would silently be ignored is refused, with an explanation.

mod networks;
mod peers;
mod places;

use std::fmt::Display;

use tessera_kit::ProgramError;

use super::Configuration;

impl Configuration {
    /// Finds contradictions without opening any file.
    ///
    /// # Errors
    /// `[table] key: ` and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        networks::check(self)?;
        peers::check(self)?;
        places::check(self)
    }
}

fn wrong<T>(table: impl Display, key: &str, what: impl Display) -> Result<T, ProgramError> {
    Err(ProgramError::settings(format!("[{table}] {key}: {what}")))
}

#[cfg(test)]
mod tests;
