//! `tessera tunnel run`: a whole process.

use std::sync::{Mutex, PoisonError};

use tessera_kit::ProgramError;
use tessera_proxy::logging::tracing;
use tessera_proxy::process::{self, ProcessOptions, RunningProduct, StartContext};

use crate::config::Tunnels;
use crate::load::{LoadedTunnels, Source};
use crate::metrics::{Label, Metrics};
use crate::running::RunningTunnels;
use crate::{changes, confinement};

/// Runs tunnels until Ctrl-C or SIGTERM. On SIGHUP it reloads the configuration and all files that it names, all or
/// none. Call it once in a process, before any other thread starts.
///
/// # Errors
/// If the configuration is invalid, an address is unavailable, or persistent state could not be written. Errors of
/// single connections are logged.
pub fn run(source: Source) -> Result<(), ProgramError> {
    let loaded = source.load()?;
    let process = &loaded.tunnels.process;
    let options = ProcessOptions {
        admin: process.admin.clone(),
        log: process.log,
        drain: process.drain,
        threads: None,
        confinement: confinement::of(&loaded.tunnels, source.file()),
    };
    process::run(options, async |beginning| RunningProcess::start(source, loaded, beginning).await)
}

/// A process whose tunnels take connections.
struct RunningProcess {
    tunnels: RunningTunnels,
    source: Source,
    /// The current configuration.
    configuration: Mutex<Tunnels>,
}

impl RunningProcess {
    async fn start(
        source: Source,
        loaded: LoadedTunnels,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        let metrics = Metrics::register(beginning.metrics);
        let tunnels = RunningTunnels::start(&loaded.tunnels, beginning.inherited, metrics).await;
        let tunnels = tunnels.map_err(|error| loaded.locate(error))?;
        Ok(Self { tunnels, source, configuration: Mutex::new(loaded.tunnels) })
    }
}

impl RunningProduct for RunningProcess {
    const CONDITION: &'static str = "tunnels";

    fn log_addresses(&self) {
        for (role, name, addresses) in self.tunnels.ends() {
            for address in addresses {
                tracing::info!(tunnel = name, role = role.name(), %address, "listening");
            }
        }
    }

    fn status(&self) -> String {
        match self.tunnels.ends().count() {
            1 => "1 tunnel".to_owned(),
            count => format!("{count} tunnels"),
        }
    }

    /// Logs the changes that need a restart.
    fn reload(&self) -> Result<(), ProgramError> {
        let tunnels = &self.tunnels;
        let mut loaded = self.source.load().inspect_err(|_| tunnels.count_failed_reload())?;
        let mut configuration = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = changes::keep(&configuration, &mut loaded.tunnels);
        let changed = tunnels.reload(&loaded.tunnels).map_err(|error| loaded.locate(error))?;
        waiting.warn();
        for (role, name, changes) in changed {
            tracing::info!(
                tunnel = name,
                role = role.name(),
                generation = changes.generation,
                certificate_changed = changes.certificates,
                ended_sessions_of_certificates = changes.peers,
                ended_sessions_of_psks = changes.psks,
                "reloaded"
            );
        }
        // Changes that need a restart are left out, and logged again at each reload.
        *configuration = loaded.tunnels;
        Ok(())
    }

    async fn end(&self) -> Result<(), ProgramError> {
        self.tunnels.end().await
    }
}
