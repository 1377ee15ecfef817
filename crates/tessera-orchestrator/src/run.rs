//! `tessera orchestrator run`: a whole process.

use std::path::{Path, PathBuf};

use tessera_kit::ProgramError;
use tessera_proxy::admin::Condition;
use tessera_proxy::logging::tracing;
use tessera_proxy::process::{self, ProcessOptions, RunningProduct, StartContext};
use tokio::task::AbortHandle;

use crate::config::{ApiSection, Configuration, LoadedConfiguration};
use crate::confinement;
use crate::orchestrator::Orchestrator;

/// Runs an orchestrator until Ctrl-C or SIGTERM. Call it once in a process, before any other thread starts.
///
/// # Errors
/// If the configuration is invalid, or an address is unavailable. Failures of the store are logged, and tried again.
pub fn run(file: &Path) -> Result<(), ProgramError> {
    let loaded = LoadedConfiguration::read(file)?;
    let process = &loaded.configuration.process;
    let options = ProcessOptions {
        admin: process.admin.clone(),
        log: process.log,
        drain: process.drain,
        threads: None,
        confinement: confinement::of(&loaded.configuration, file),
    };
    process::run(options, async |beginning| Running::start(file.to_owned(), &loaded, beginning))
}

struct Running {
    orchestrator: Orchestrator,
    configuration: Configuration,
    file: PathBuf,
    follows: AbortHandle,
}

impl Running {
    fn start(
        file: PathBuf,
        loaded: &LoadedConfiguration,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        let configuration = loaded.configuration.clone();
        let started = Orchestrator::start(&configuration, beginning.inherited, beginning.metrics);
        let orchestrator = started.map_err(|error| loaded.locate(error))?;
        let condition = beginning.health.condition("store");
        let follows = tokio::spawn(follow(orchestrator.table().clone(), condition)).abort_handle();
        Ok(Self { orchestrator, configuration, file, follows })
    }
}

/// Reports whether the store is followed.
async fn follow(table: tessera_bindings::BindingTable, condition: Condition) {
    let mut changes = table.changes();
    loop {
        match table.is_current() {
            true => condition.holds(),
            false => condition.fails("the store can't be followed"),
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

impl RunningProduct for Running {
    const CONDITION: &'static str = "api";

    fn log_addresses(&self) {
        for address in self.orchestrator.addresses() {
            tracing::info!(%address, "serving the API");
        }
    }

    fn status(&self) -> String {
        let clients = self.orchestrator.table().len();
        format!("{clients} clients")
    }

    /// The API's certificates and names change at once; the rest waits for a restart, which costs nothing.
    fn reload(&self) -> Result<(), ProgramError> {
        let loaded = LoadedConfiguration::read(&self.file)?;
        let api = &loaded.configuration.api;
        self.orchestrator.reload(api).map_err(|error| loaded.locate(error))?;
        let running = &self.configuration;
        let others = Configuration {
            api: ApiSection {
                listen: api.listen.clone(),
                connections: api.connections,
                ..running.api.clone()
            },
            ..loaded.configuration.clone()
        };
        match others == *running {
            true => tracing::info!("the API's certificates and operators were read again"),
            false => tracing::warn!(
                "the API's certificates and operators were read again; restart the orchestrator for the other changes"
            ),
        }
        Ok(())
    }

    async fn end(&self) -> Result<(), ProgramError> {
        self.follows.abort();
        self.orchestrator.end().await;
        Ok(())
    }
}
