//! `tessera tunnel run`: a whole process.

use std::convert::Infallible;
use std::sync::Arc;

use tessera_kit::signals::{self, Hangups};
use tessera_kit::{ProgramError, open_files, runtime};
use tessera_proxy::admin::{self, Health, Metrics as ProcessMetrics};
use tessera_proxy::confine::Confinement;
use tessera_proxy::listen::{Inherited, ListenOptions, Listener};
use tessera_proxy::logging::{self, Log, LogFormat, LogOptions, tracing};
use tessera_proxy::service::Supervisor;
use tessera_tokio::{Gate, Limits};
use tokio::task::spawn_blocking;

use crate::config::{Process, Tunnels};
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
    // Before there are threads: it changes the environment.
    let inherited = Inherited::from_env()?;
    // Threads that come later are as confined as this one.
    let confinement = confinement::of(&loaded.tunnels, source.file());
    let enforced = confinement.enforce()?;
    let format = loaded.tunnels.process.log.unwrap_or_else(LogFormat::of_stderr);
    let log = logging::init(LogOptions::new(format))?;
    match enforced.files {
        true => tracing::info!("{enforced}"),
        false => tracing::warn!("{enforced}"),
    }
    let supervisor = Supervisor::from_env();
    let supervisor = supervisor.map_err(|error| ProgramError::failed("NOTIFY_SOCKET", error))?;
    let ended = runtime::run(async {
        // Before a state is opened: whoever is ended by a signal then would take its keys along.
        let asked = signals::asked_to_end()?;
        let process = RunningProcess::start(&loaded, inherited, &log).await?;
        let origin = Origin { source, confinement };
        process.serve(&origin, loaded.tunnels, &supervisor, asked).await
    });
    supervisor.finish();
    log.finish();
    ended
}

/// Where the configuration comes from, and what of the machine the process may use to load it again.
#[derive(Clone)]
struct Origin {
    source: Source,
    confinement: Confinement,
}

/// A process whose tunnels take connections.
struct RunningProcess {
    tunnels: Arc<RunningTunnels>,
    admin: Option<Listener>,
    metrics: ProcessMetrics,
    health: Health,
    ready: admin::Condition,
    hangups: Hangups,
}

impl RunningProcess {
    async fn start(
        loaded: &Loaded,
        mut inherited: Inherited,
        log: &Log,
    ) -> Result<Self, ProgramError> {
        let hangups = Hangups::new()?;
        open_files::raise();
        let metrics = ProcessMetrics::new();
        log.register(&metrics);
        let health = Health::new();
        metrics.register_collector(health.clone());
        let ready = health.condition("tunnels");

        let configuration = &loaded.tunnels;
        // Nothing is to be undone where this fails.
        let admin = bind_admin(&configuration.process, &mut inherited)?;
        let tunnels =
            RunningTunnels::start(configuration, &mut inherited, Metrics::register(&metrics));
        let tunnels = tunnels.await.map_err(|error| loaded.locate(error))?;
        for name in inherited.names() {
            tracing::warn!("the socket {name} was handed over, and no `listen` names it");
        }
        Ok(Self { tunnels: Arc::new(tunnels), admin, metrics, health, ready, hangups })
    }

    /// Serves until somebody asks for the end.
    async fn serve(
        self,
        origin: &Origin,
        configuration: Tunnels,
        supervisor: &Supervisor,
        asked: impl Future<Output = ()>,
    ) -> Result<(), ProgramError> {
        let Self { tunnels, admin, metrics, health, ready, hangups } = self;
        for (role, name, addresses) in tunnels.ends() {
            for address in addresses {
                tracing::info!(tunnel = name, role = role.name(), %address, "listening");
            }
        }
        let own = admin.as_ref().and_then(|listener| listener.local_addrs().ok());
        for address in own.unwrap_or_default() {
            tracing::info!(%address, "metrics and health are served");
        }
        let status = match tunnels.ends().count() {
            1 => "1 tunnel".to_owned(),
            count => format!("{count} tunnels"),
        };
        ready.holds();
        supervisor.ready(&status);

        let drain = configuration.process.drain;
        let reloads = reload_on(hangups, origin, configuration, &tunnels, supervisor, &status);
        tokio::select! {
            () = asked => (),
            never = reloads => match never {},
            never = supervisor.keep_alive() => match never {},
            never = serve_admin(admin.as_ref(), &metrics, &health) => match never {},
        }
        ready.fails("the process ends");
        tracing::info!(drain = ?drain, "asked to end: connections may end, the rest is cut");
        supervisor.stopping("connections may end", drain);
        let ended = tunnels.end();
        // Whoever watches sees the end, not a process that is gone.
        let ended = tokio::select! {
            ended = ended => ended,
            never = serve_admin(admin.as_ref(), &metrics, &health) => match never {},
            never = supervisor.keep_alive() => match never {},
        };
        match &ended {
            Ok(()) => tracing::info!("ended"),
            Err(error) => tracing::error!("{error}"),
        }
        ended
    }
}

/// Reads everything again whenever somebody asks.
async fn reload_on(
    mut hangups: Hangups,
    origin: &Origin,
    mut configuration: Tunnels,
    tunnels: &Arc<RunningTunnels>,
    supervisor: &Supervisor,
    status: &str,
) -> Infallible {
    loop {
        hangups.next().await;
        supervisor.reloading();
        let (shared, source) = (tunnels.clone(), origin.source.clone());
        let before = configuration.clone();
        let reloaded = spawn_blocking(move || reload(&shared, &source, &before)).await;
        match reloaded.unwrap_or_else(|error| Err(ProgramError::failed("the reload", error))) {
            Ok(loaded) => configuration = loaded,
            Err(error) => {
                let error = confinement::explain(&origin.confinement, error);
                let file = error.file().map(|path| path.display().to_string());
                tracing::error!(file, "not reloaded, everything goes on as it was: {error}");
            }
        }
        supervisor.ready(status);
    }
}

/// All or nothing. What can't change now is told.
fn reload(
    tunnels: &RunningTunnels,
    source: &Source,
    before: &Tunnels,
) -> Result<Tunnels, ProgramError> {
    let mut loaded = source.load().inspect_err(|_| tunnels.count_failed_reload())?;
    let waiting = changes::keep(before, &mut loaded.tunnels);
    let changed = tunnels.reload(&loaded.tunnels).map_err(|error| loaded.locate(error))?;
    for key in waiting {
        tracing::warn!("{key} has changed in the configuration, and waits for a restart");
    }
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
    Ok(loaded.tunnels)
}

fn bind_admin(
    process: &Process,
    inherited: &mut Inherited,
) -> Result<Option<Listener>, ProgramError> {
    let bind = |address| Listener::bind(address, ListenOptions::default(), inherited);
    process.admin.as_ref().map(bind).transpose()
}

/// For ever, also where nobody may ask.
async fn serve_admin(
    listener: Option<&Listener>,
    metrics: &ProcessMetrics,
    health: &Health,
) -> Infallible {
    let Some(listener) = listener else { return std::future::pending().await };
    // How long to wait where there is no file or no memory for a connection, it knows.
    let gate = Gate::new(Limits::default());
    let accept = async || gate.accept(|| listener.accept()).await.0;
    admin::serve(accept, metrics.clone(), health.clone()).await
}
