//! `tessera signer run`: a whole process.

use std::path::Path;

use tessera_kit::ProgramError;
use tessera_proxy::process::{self, ProcessOptions};

use crate::config::LoadedSigner;
use crate::confinement;
use crate::running::RunningSigner;

/// Runs a signer until Ctrl-C or SIGTERM. SIGHUP reloads the file and every file that it names, all or none. Call it once in a
/// process, before any other thread starts.
///
/// # Errors
/// If the configuration is invalid, or an address is unavailable.
pub fn run(file: &Path) -> Result<(), ProgramError> {
    let loaded = LoadedSigner::read(file)?;
    let process = &loaded.signer.process;
    let options = ProcessOptions {
        admin: process.admin.clone(),
        log: process.log,
        drain: process.drain,
        threads: None,
        confinement: confinement::of(&loaded.signer, file),
    };
    process::run(options, async |beginning| RunningSigner::start(file, loaded, beginning))
}
