//! `tessera tunnel run`: a whole process.

use std::sync::{Mutex, PoisonError};

use tessera_kit::ProgramError;
use tessera_proxy::logging::tracing;
use tessera_proxy::process::{self, Beginning, ProcessOptions, Running};

use crate::config::Tunnels;
use crate::load::{Loaded, Source};
use crate::metrics::{Label, Metrics};
use crate::running::RunningTunnels;
use crate::{changes, confinement};

/// Runs tunnels until the process is asked to end by Ctrl-C or SIGTERM. On SIGHUP it reads the configuration and all
/// files that it names again, all or none. Called once in a process, before it has other threads.
///
/// # Errors
/// If the configuration can't be as it is, an address can't be had, or what survives the process could not be written.
/// What goes wrong in a connection is told in the log.
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
    /// As it is now.
    configuration: Mutex<Tunnels>,
}

impl RunningProcess {
    async fn start(
        source: Source,
        loaded: Loaded,
        beginning: Beginning<'_>,
    ) -> Result<Self, ProgramError> {
        let metrics = Metrics::register(beginning.metrics);
        let tunnels = RunningTunnels::start(&loaded.tunnels, beginning.inherited, metrics).await;
        let tunnels = tunnels.map_err(|error| loaded.locate(error))?;
        Ok(Self { tunnels, source, configuration: Mutex::new(loaded.tunnels) })
    }
}

impl Running for RunningProcess {
    const CONDITION: &'static str = "tunnels";

    fn tell(&self) {
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

    /// What can't change now is told.
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
        // What waits is not in it, and is told again at each reload.
        *configuration = loaded.tunnels;
        Ok(())
    }

    async fn end(&self) -> Result<(), ProgramError> {
        self.tunnels.end().await
    }
}
