//! `tessera sepp run`: the whole process.

use std::path::Path;

use tessera_kit::ProgramError;
use tessera_proxy::process::{self, ProcessOptions};

use crate::confinement;
use crate::load::LoadedConfiguration;
use crate::running::RunningSepp;

/// Runs the SEPP of a configuration file until Ctrl-C or SIGTERM. SIGHUP reloads the file and every file that it names,
/// all or none. Call it once per process, before any other thread starts.
///
/// # Errors
/// If the configuration is invalid, an address can't be bound, or persistent state could not be written. Problems with
/// a peer are only logged.
pub fn run(file: &Path) -> Result<(), ProgramError> {
    let loaded = LoadedConfiguration::read(file)?;
    let process = &loaded.configuration.process;
    let options = ProcessOptions {
        admin: process.admin.clone(),
        log: process.log,
        drain: process.drain,
        threads: process.threads,
        confinement: confinement::of(&loaded.configuration, file),
    };
    process::run(options, async |beginning| RunningSepp::start(file, loaded, beginning).await)
}
