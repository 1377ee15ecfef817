//! Contradictions. A setting that would silently be ignored is refused, with an explanation.

mod networks;
mod peers;
mod places;

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

#[cfg(test)]
mod tests;
