//! Loads configurations.

use std::path::Path;

use tessera_kit::ProgramError;
use tessera_proxy::config::Document;

use crate::config::Configuration;

/// A configuration as it was read, with the positions of its keys for error messages.
#[derive(Debug)]
pub(crate) struct LoadedConfiguration {
    pub(crate) configuration: Configuration,
    document: Document,
}

impl LoadedConfiguration {
    /// Reads the file and checks that it doesn't contradict itself. Files that it names are not opened.
    ///
    /// # Errors
    /// With the line, the key, and what to do.
    pub(crate) fn read(path: &Path) -> Result<Self, ProgramError> {
        let document = Document::read(path)?;
        let configuration: Configuration = document.parse()?;
        let loaded = Self { configuration, document };
        match loaded.configuration.check() {
            Ok(()) => Ok(loaded),
            Err(error) => Err(loaded.locate(error)),
        }
    }

    /// Adds the line of the key to an error about a key (`[table] key: what`). Other errors name another file and stay
    /// unchanged.
    pub(crate) fn locate(&self, error: ProgramError) -> ProgramError {
        self.document.locate(error)
    }
}
