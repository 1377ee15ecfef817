//! A whole process: log, confinement, supervisor, signals, reloads, admin, and its end.

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
use crate::listen::{Inherited, ListenOptions, Listener};
use crate::logging::{self, LogFormat, LogOptions};
use crate::service::Supervisor;

/// How a process runs.
#[derive(Debug, Clone)]
pub struct ProcessOptions {
    /// Where metrics, health and the product's own paths are served. `None` is nowhere.
    pub admin: Option<ListenAddress>,
    /// How log lines look. `None`: text on a terminal, JSON elsewhere.
    pub log: Option<LogFormat>,
    /// How long what is under way may take to end.
    pub drain: Duration,
    /// Threads that work. `None`: as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// What it still needs of the machine.
    pub confinement: Confinement,
}

/// What a product starts with.
#[non_exhaustive]
pub struct Beginning<'a> {
    /// Sockets that a supervisor handed over.
    pub inherited: &'a mut Inherited,
    /// Where it registers its own.
    pub metrics: &'a Metrics,
    /// Where it adds its conditions.
    pub health: &'a Health,
}

impl<'a> Beginning<'a> {
    /// For a product that runs within a process of another kind, such as a demonstration.
    pub fn new(inherited: &'a mut Inherited, metrics: &'a Metrics, health: &'a Health) -> Self {
        Self { inherited, metrics, health }
    }
}

/// A product that takes connections.
pub trait Running: Send + Sync + 'static {
    /// What has to hold before the process is ready, as operators read it: `tunnels`.
    const CONDITION: &'static str;

    /// Tells in the log where it listens.
    fn tell(&self);

    /// A line for the supervisor: `3 tunnels`.
    fn status(&self) -> String;

    /// What operators are answered beside metrics and health.
    fn routes(self: &Arc<Self>) -> Routes {
        Routes::new()
    }

    /// Reads its configuration and all files again, all or none, and tells in the log what has changed. It blocks.
    ///
    /// # Errors
    /// If something is wrong: everything goes on as it was.
    fn reload(&self) -> Result<(), ProgramError>;

    /// Takes no more connections, lets those that there are end, cuts the rest after the time for it, and closes what
    /// survives the process.
    fn end(&self) -> impl Future<Output = Result<(), ProgramError>> + Send;
}

/// Runs a product until the process is asked to end by Ctrl-C or SIGTERM. On SIGHUP it reloads. Called once in a
/// process, before it has other threads.
///
/// # Errors
/// If it can't start, or could not end as it should.
pub fn run<R: Running>(
    options: ProcessOptions,
    start: impl AsyncFnOnce(Beginning<'_>) -> Result<R, ProgramError>,
) -> Result<(), ProgramError> {
    // Before there are threads: it changes the environment.
    let mut inherited = Inherited::from_env()?;
    // Threads that come later are as confined as this one.
    let enforced = options.confinement.enforce()?;
    let log = logging::init(LogOptions::new(options.log.unwrap_or_else(LogFormat::of_stderr)))?;
    match enforced.files {
        true => tracing::info!("{enforced}"),
        false => tracing::warn!("{enforced}"),
    }
    let supervisor = Supervisor::from_env();
    let supervisor = supervisor.map_err(|error| ProgramError::failed("NOTIFY_SOCKET", error))?;
    let ended = runtime::run_on(options.threads, async {
        // Before a state is opened: whoever is ended by a signal then would take its keys along.
        let asked = signals::asked_to_end()?;
        let hangups = Hangups::new()?;
        open_files::raise();
        let metrics = Metrics::new();
        log.register(&metrics);
        let health = Health::new();
        metrics.register_collector(health.clone());
        let ready = health.condition(R::CONDITION);

        // Nothing is to be undone where this fails.
        let admin = bind_admin(options.admin.as_ref(), &mut inherited)?;
        let beginning = Beginning { inherited: &mut inherited, metrics: &metrics, health: &health };
        let product = Arc::new(start(beginning).await?);
        for name in inherited.names() {
            tracing::warn!("the socket {name} was handed over, and no `listen` names it");
        }
        let admin = Admin { listener: admin, metrics, health, routes: product.routes() };
        serve(product, &options, admin, ready, hangups, &supervisor, asked).await
    });
    supervisor.finish();
    log.finish();
    ended
}

/// Serves until somebody asks for the end.
async fn serve<R: Running>(
    product: Arc<R>,
    options: &ProcessOptions,
    admin: Admin,
    ready: Condition,
    hangups: Hangups,
    supervisor: &Supervisor,
    asked: impl Future<Output = ()>,
) -> Result<(), ProgramError> {
    product.tell();
    let own = admin.listener.as_ref().and_then(|listener| listener.local_addrs().ok());
    for address in own.unwrap_or_default() {
        tracing::info!(%address, "metrics and health are served");
    }
    ready.holds();
    supervisor.ready(&product.status());

    tokio::select! {
        () = asked => (),
        never = reload_on(hangups, &product, &options.confinement, supervisor) => match never {},
        never = supervisor.keep_alive() => match never {},
        never = admin.serve() => match never {},
    }
    ready.fails("the process ends");
    let drain = options.drain;
    tracing::info!(drain = ?drain, "asked to end: connections may end, the rest is cut");
    supervisor.stopping("connections may end", drain);
    // Whoever watches sees the end, not a process that is gone.
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

/// Reads everything again whenever somebody asks.
async fn reload_on<R: Running>(
    mut hangups: Hangups,
    product: &Arc<R>,
    confinement: &Confinement,
    supervisor: &Supervisor,
) -> Infallible {
    loop {
        hangups.next().await;
        supervisor.reloading();
        let shared = product.clone();
        let reload = move || files::within(files::RELOAD_LIMIT, || shared.reload());
        let reloaded = spawn_blocking(reload).await;
        let reloaded =
            reloaded.unwrap_or_else(|error| Err(ProgramError::failed("the reload", error)));
        if let Err(error) = reloaded {
            let error = explain(confinement, error);
            let file = error.file().map(|path| path.display().to_string());
            tracing::error!(file, "not reloaded, everything goes on as it was: {error}");
        }
        supervisor.ready(&product.status());
    }
}

/// What operators are answered.
struct Admin {
    listener: Option<Listener>,
    metrics: Metrics,
    health: Health,
    routes: Routes,
}

impl Admin {
    /// For ever, also where nobody may ask.
    async fn serve(&self) -> Infallible {
        let Some(listener) = &self.listener else { return std::future::pending().await };
        // How long to wait where there is no file or no memory for a connection, it knows.
        let gate = Gate::new(Limits::default());
        let accept = async || gate.accept(|| listener.accept()).await.0;
        let (metrics, health) = (self.metrics.clone(), self.health.clone());
        admin::serve_with(accept, metrics, health, self.routes.clone()).await
    }
}

fn bind_admin(
    address: Option<&ListenAddress>,
    inherited: &mut Inherited,
) -> Result<Option<Listener>, ProgramError> {
    let bind = |address| Listener::bind(address, ListenOptions::default(), inherited);
    address.map(bind).transpose()
}
