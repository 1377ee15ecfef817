//! `tessera sepp run`: a whole process.

use std::path::Path;

use tessera_kit::ProgramError;
use tessera_proxy::process::{self, ProcessOptions};

use crate::confinement;
use crate::load::Loaded;
use crate::running::RunningSepp;

/// Runs the SEPP of a file until the process is asked to end by Ctrl-C or SIGTERM. On SIGHUP it reads the file and all
/// files that it names again, all or none. Called once in a process, before it has other threads.
///
/// # Errors
/// If the configuration can't be as it is, an address can't be had, or what survives the process could not be written.
/// What goes wrong with a peer is told in the log.
pub fn run(file: &Path) -> Result<(), ProgramError> {
    let loaded = Loaded::read(file)?;
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
