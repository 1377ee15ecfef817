//! `tessera edge run`: a whole process.

use std::path::Path;

use tessera_kit::ProgramError;
use tessera_proxy::process::{self, ProcessOptions};

use crate::config::LoadedEdge;
use crate::running::RunningEdge;
use crate::{confinement, load};

/// Runs a proxy until Ctrl-C or SIGTERM. SIGHUP reloads the file and every file that it names, all or none. Call it once in a
/// process, before any other thread starts.
///
/// # Errors
/// If the configuration is invalid, or an address is unavailable. Failures of the store, other proxies and services are
/// logged.
pub fn run(file: &Path) -> Result<(), ProgramError> {
    let loaded = LoadedEdge::read(file)?;
    let process = &loaded.edge.process;
    let options = ProcessOptions {
        admin: process.admin.clone(),
        log: process.log,
        drain: process.drain,
        threads: None,
        confinement: confinement::of(&loaded.edge, file),
    };
    process::run(options, async |beginning| {
        let store = load::store(&loaded.edge.pool).map_err(|error| loaded.locate(error))?;
        RunningEdge::start(file, loaded, store, beginning).await
    })
}
