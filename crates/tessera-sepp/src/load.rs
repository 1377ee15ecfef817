//! Where a configuration comes from.

use std::path::Path;

use tessera_kit::ProgramError;
use tessera_proxy::config::Document;

use crate::config::Configuration;

/// A configuration as it was read, with what says where its errors are.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) configuration: Configuration,
    document: Document,
}

impl Loaded {
    /// Reads the file, and looks whether it contradicts itself; no file that it names is looked at.
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

    /// An error about a key, `[table] key: what`, with the line of the key. Others name another file.
    pub(crate) fn locate(&self, error: ProgramError) -> ProgramError {
        self.document.locate(error)
    }
}
