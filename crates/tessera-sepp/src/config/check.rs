//! What contradicts itself.

use tessera_kit::ProgramError;

use super::Configuration;

impl Configuration {
    /// Finds what contradicts itself, without looking at a file.
    ///
    /// # Errors
    /// `[table] key: ` and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        Ok(())
    }
}
