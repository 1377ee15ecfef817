//! A whole process: log, confinement, supervisor, signals, reloads, admin, and shutdown.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tessera_kit::signals::{self, Hangups};
use tessera_kit::{ProgramError, files, open_files, runtime};
use tessera_tokio::{Gate, Limits};
use tokio::task::spawn_blocking;

use crate::address::ListenAddress;
use crate::admin::{self, Condition, Health, Metrics, Routes};
use crate::confine::{Confinement, explain};
use crate::keys_ahead::{self, KeyFiller};
use crate::listen::{InheritedSockets, ListenOptions, Listener};
use crate::logging::{self, LogFormat, LogOptions};
use crate::service::Supervisor;

/// The settings of a process.
#[derive(Debug, Clone)]
pub struct ProcessOptions {
    /// Where to serve metrics, health and the product's own paths; `None`: nowhere.
    pub admin: Option<ListenAddress>,
    /// The format of log lines; `None`: text on a terminal, JSON elsewhere.
    pub log: Option<LogFormat>,
    /// How long open work may take to end at shutdown.
    pub drain: Duration,
    /// Worker threads; `None`: one for each processor.
    pub threads: Option<NonZeroUsize>,
    /// What the process still needs from the machine.
    pub confinement: Confinement,
}

/// What a product gets at its start.
#[non_exhaustive]
pub struct StartContext<'a> {
    /// Sockets that a supervisor passed.
    pub inherited: &'a mut InheritedSockets,
    /// Where it registers its metrics.
    pub metrics: &'a Metrics,
    /// Where it adds its conditions.
    pub health: &'a Health,
}

impl<'a> StartContext<'a> {
    /// Creates it for a product inside another kind of process, such as a demonstration.
    pub fn new(
        inherited: &'a mut InheritedSockets,
        metrics: &'a Metrics,
        health: &'a Health,
    ) -> Self {
        Self { inherited, metrics, health }
    }
}

/// A product that accepts connections.
pub trait RunningProduct: Send + Sync + 'static {
    /// The condition of readiness, as operators read it: `tunnels`.
    const CONDITION: &'static str;

    /// Logs where it listens.
    fn log_addresses(&self);

    /// Returns a status line for the supervisor: `3 tunnels`.
    fn status(&self) -> String;

    /// Returns the product's admin paths, in addition to metrics and health.
    fn routes(self: &Arc<Self>) -> Routes {
        Routes::new()
    }

    /// Reloads its configuration and all files, all or none, and logs what has changed. Blocks.
    ///
    /// # Errors
    /// If anything is wrong: everything stays as it was.
    fn reload(&self) -> Result<(), ProgramError>;

    /// Stops accepting, drains open connections, cuts the rest after the drain time, and closes persistent state.
    fn end(&self) -> impl Future<Output = Result<(), ProgramError>> + Send;
}

/// Runs a product until Ctrl-C or SIGTERM; SIGHUP reloads it. Call it once in a process, before any other thread
/// starts.
///
/// # Errors
/// If it can't start, or fails to shut down in order.
pub fn run<R: RunningProduct>(
    options: ProcessOptions,
    start: impl AsyncFnOnce(StartContext<'_>) -> Result<R, ProgramError>,
) -> Result<(), ProgramError> {
    // Before any thread starts: it changes the environment.
    let mut inherited = InheritedSockets::from_env()?;
    // Threads started later inherit the confinement.
    let enforced = options.confinement.enforce()?;
    let log = logging::init(LogOptions::new(options.log.unwrap_or_else(LogFormat::of_stderr)))?;
    match enforced.files {
        true => tracing::info!("{enforced}"),
        false => tracing::warn!("{enforced}"),
    }
    let supervisor = Supervisor::from_env();
    let supervisor = supervisor.map_err(|error| ProgramError::failed("NOTIFY_SOCKET", error))?;
    let ended = runtime::run_on(options.threads, async {
        // Before any state is opened: a signal that kills the process would lose the state's keys.
        let asked = signals::asked_to_end()?;
        let hangups = Hangups::new()?;
        open_files::raise();
        let metrics = Metrics::new();
        log.register(&metrics);
        let health = Health::new();
        metrics.register_collector(health.clone());
        let ready = health.condition(R::CONDITION);

        // A failure up to here leaves nothing to undo.
        let admin = bind_admin(options.admin.as_ref(), &mut inherited)?;
        let beginning =
            StartContext { inherited: &mut inherited, metrics: &metrics, health: &health };
        let product = Arc::new(start(beginning).await?);
        for name in inherited.names() {
            tracing::warn!("the socket {name} was handed over, but no `listen` names it");
        }
        let keys = keys_ahead::is_used().then(|| KeyFiller::start(&metrics));
        let admin = Admin { listener: admin, metrics, health, routes: product.routes() };
        let status = Status { product: product.clone(), keys, supervisor: &supervisor };
        serve(product, &options, admin, ready, hangups, &status, asked).await
    });
    supervisor.finish();
    log.finish();
    ended
}

/// Serves until shutdown is requested.
async fn serve<R: RunningProduct>(
    product: Arc<R>,
    options: &ProcessOptions,
    admin: Admin,
    ready: Condition,
    hangups: Hangups,
    status: &Status<'_, R>,
    asked: impl Future<Output = ()>,
) -> Result<(), ProgramError> {
    product.log_addresses();
    let own = admin.listener.as_ref().and_then(|listener| listener.local_addrs().ok());
    for address in own.unwrap_or_default() {
        tracing::info!(%address, "serving metrics and health");
    }
    ready.holds();
    status.ready();
    let supervisor = status.supervisor;

    tokio::select! {
        () = asked => (),
        never = reload_on(hangups, &product, &options.confinement, status) => match never {},
        never = status.keep_current() => match never {},
        never = supervisor.keep_alive() => match never {},
        never = admin.serve() => match never {},
    }
    ready.fails("the process ends");
    let drain = options.drain;
    tracing::info!(drain = ?drain, "asked to end: connections have this time to end, then they are cut");
    supervisor.stopping("shutting down: waiting for connections to end", drain);
    // Keep admin and supervisor served, so that monitors see the shutdown and not a dead process.
    let ended = tokio::select! {
        ended = product.end() => ended,
        never = admin.serve() => match never {},
        never = supervisor.keep_alive() => match never {},
    };
    match &ended {
        Ok(()) => tracing::info!("ended"),
        Err(error) => tracing::error!("{error}"),
    }
    ended
}

/// Reloads at each SIGHUP.
async fn reload_on<R: RunningProduct>(
    mut hangups: Hangups,
    product: &Arc<R>,
    confinement: &Confinement,
    status: &Status<'_, R>,
) -> Infallible {
    loop {
        hangups.next().await;
        status.supervisor.reloading();
        let shared = product.clone();
        let reload = move || files::within(files::RELOAD_LIMIT, || shared.reload());
        let reloaded = spawn_blocking(reload).await;
        let reloaded =
            reloaded.unwrap_or_else(|error| Err(ProgramError::failed("the reload", error)));
        if let Err(error) = reloaded {
            let error = explain(confinement, error);
            let file = error.file().map(|path| path.display().to_string());
            tracing::error!(file, "not reloaded, the earlier configuration stays in use: {error}");
        }
        status.ready();
    }
}

/// The status line of a process.
struct Status<'s, R> {
    product: Arc<R>,
    keys: Option<KeyFiller>,
    supervisor: &'s Supervisor,
}

impl<R: RunningProduct> Status<'_, R> {
    fn line(&self) -> String {
        let keys = self.keys.as_ref().and_then(KeyFiller::status);
        [Some(self.product.status()), keys].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn ready(&self) {
        self.supervisor.ready(&self.line());
    }

    /// Updates the line every ten seconds, if it changed.
    async fn keep_current(&self) -> Infallible {
        let mut last = self.line();
        loop {
            tokio::time::sleep(Duration::from_secs(10)).await;
            let line = self.line();
            if line != last {
                self.supervisor.status(&line);
                last = line;
            }
        }
    }
}

/// What the admin port serves.
struct Admin {
    listener: Option<Listener>,
    metrics: Metrics,
    health: Health,
    routes: Routes,
}

impl Admin {
    /// Serves forever, even without a listener.
    async fn serve(&self) -> Infallible {
        let Some(listener) = &self.listener else { return std::future::pending().await };
        // Only for its pauses when files or memory run out.
        let gate = Gate::new(Limits::default());
        let accept = async || gate.accept(|| listener.accept()).await.0;
        let (metrics, health) = (self.metrics.clone(), self.health.clone());
        admin::serve(accept, metrics, health, self.routes.clone()).await
    }
}

fn bind_admin(
    address: Option<&ListenAddress>,
    inherited: &mut InheritedSockets,
) -> Result<Option<Listener>, ProgramError> {
    let bind = |address| Listener::bind(address, ListenOptions::default(), inherited);
    address.map(bind).transpose()
}
