//! `tessera stek run`: a whole process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_proxy::admin::Routes;
use tessera_proxy::logging::tracing;
use tessera_proxy::process::{self, ProcessOptions, RunningProduct, StartContext};

use crate::config::LoadedStek;
use crate::confinement;
use crate::running::RunningRing;

/// Runs the sidecar until Ctrl-C or SIGTERM. Call it once in a process, before any other thread starts.
///
/// # Errors
/// If the configuration is invalid, or an address is unavailable. Failures of stores and servers are logged, and tried
/// again.
pub fn run(file: &Path) -> Result<(), ProgramError> {
    let loaded = LoadedStek::read(file)?;
    let process = &loaded.stek.process;
    let options = ProcessOptions {
        admin: process.admin.clone(),
        log: process.log,
        // Nothing is open that could drain.
        drain: Duration::ZERO,
        // It waits most of the time.
        threads: std::num::NonZeroUsize::new(1),
        confinement: confinement::of(&loaded.stek, file),
    };
    process::run(options, async |beginning| {
        RunningStek::start(file.to_owned(), loaded, beginning).await
    })
}

struct RunningStek {
    ring: Arc<RunningRing>,
    file: PathBuf,
}

impl RunningStek {
    async fn start(
        file: PathBuf,
        loaded: LoadedStek,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        let ring = RunningRing::start(&loaded.stek, beginning.metrics).await;
        Ok(Self { ring: ring.map_err(|error| loaded.locate(error))?, file })
    }
}

impl RunningProduct for RunningStek {
    const CONDITION: &'static str = "ring";

    fn log_addresses(&self) {
        for member in self.ring.members() {
            tracing::info!(member = member.name, "taking part in the ring");
        }
    }

    fn status(&self) -> String {
        match self.ring.members().len() {
            1 => "1 server".to_owned(),
            count => format!("{count} servers"),
        }
    }

    fn routes(self: &Arc<Self>) -> Routes {
        self.ring.routes()
    }

    /// Nothing changes while it runs: a restart costs nothing, since servers keep their keys.
    fn reload(&self) -> Result<(), ProgramError> {
        LoadedStek::read(&self.file)?;
        tracing::warn!(
            "the configuration is valid; restart the sidecar to use it: servers keep their keys meanwhile"
        );
        Ok(())
    }

    async fn end(&self) -> Result<(), ProgramError> {
        self.ring.close().await;
        Ok(())
    }
}
