//! Many connections: several tasks, each with one connection after the other.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tessera::resume::PskKind;
use tessera::{Destination, EarlyDataStatus};
use tessera_kit::cached_certificates::KeptServers;
use tessera_kit::facts::micros;
use tessera_kit::report::Report;
use tessera_kit::{ProgramError, SettingFile, open_files, signals};
use tessera_tokio::fast_open::{FastOpenStream, Opening};
use tessera_tokio::{ClientStream, Connector, EarlyData, SessionStore};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::advice;
use super::config::{ConfiguredClient, configure};
use super::dial;
use super::pool::Pool;
use super::summary::{Outcome, Summary};
use crate::by_option::start_by_option;
use crate::options::{ConnectOptions, Load, LoadMode};
use crate::receive::receive;

/// State shared by all tasks of a load.
struct Run {
    options: ConnectOptions,
    load: Load,
    connector: Connector,
    destination: Box<dyn Fn() -> Destination + Send + Sync>,
    early_data: Vec<u8>,
    /// How many connections were started.
    begun: AtomicUsize,
    outcome: Mutex<Outcome>,
    progress: ProgressBar,
}

pub(super) async fn run(options: &ConnectOptions, load: &Load) -> Result<(), ProgramError> {
    options.check()?;
    let mut configured = configure(options)?;
    let certificates = configured.certificates.take();
    let result = measure(options, load, configured, certificates.as_ref()).await;
    let saved = certificates.map_or(Ok(()), |kept| kept.save());
    result.and(saved)
}

async fn measure(
    options: &ConnectOptions,
    load: &Load,
    configured: ConfiguredClient,
    certificates: Option<&KeptServers>,
) -> Result<(), ProgramError> {
    let common = &options.common;
    let report = Report::of_client(common.json_file(), common.quiet, io::stdout())?;
    if let Some(kept) = certificates.filter(|kept| kept.found().was_refused()) {
        report.print(kept.found());
    }
    let early_data = match &options.early_data_file {
        Some(path) => fs::read(path).map_err(|error| {
            ProgramError::input(SettingFile { setting: "--early-data", path }, &error)
        })?,
        None => REQUEST.to_vec(),
    };
    open_files::raise();
    let pool = Arc::new(Pool::default());
    let connector = Connector::new(configured.config.clone())
        .with_sessions(pool.clone() as Arc<dyn SessionStore>);
    let run = Arc::new(Run {
        options: options.clone(),
        load: *load,
        connector,
        destination: Box::new(move || configured.destination()),
        early_data,
        begun: AtomicUsize::new(0),
        outcome: Mutex::default(),
        progress: if common.quiet { ProgressBar::hidden() } else { progress(load.count) },
    });
    let asked = signals::asked_to_end()?;
    if load.mode != LoadMode::Full {
        run.fill(&pool).await?;
    }

    let certificates = certificates.map(KeptServers::cache);
    let before = certificates.as_ref().map(|cache| cache.metrics());
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..load.parallel.min(load.count) {
        let run = run.clone();
        tasks.spawn(async move { run.work().await });
    }
    tokio::select! {
        () = async { while tasks.join_next().await.is_some() {} } => (),
        // The connections that are done still count.
        () = asked => tasks.shutdown().await,
    }
    let total = started.elapsed();
    run.progress.finish_and_clear();

    let mut outcome =
        std::mem::take(&mut *run.outcome.lock().unwrap_or_else(PoisonError::into_inner));
    if let (Some(cache), Some(before)) = (certificates, before) {
        outcome.certificates.bytes_saved =
            cache.metrics().bytes_saved.saturating_sub(before.bytes_saved);
    }
    let summary = Summary::new(options, load, outcome, total);
    report.print(&summary);
    let told = report.finish();
    summary.verdict()?;
    told
}

impl Run {
    /// Fills the pool with the sessions that the measured connections start from.
    async fn fill(&self, pool: &Pool) -> Result<(), ProgramError> {
        while pool.len() < self.load.parallel {
            let before = pool.len();
            // Each is a full handshake: a resumption spends a session and brings only one.
            let mut stream = self.stream(false).await?;
            let done = async {
                stream.handshake().await?;
                let _ = stream.shutdown().await;
                while !receive(&mut stream).await?.is_empty() {}
                io::Result::Ok(())
            };
            let done = done.await;
            let facts = stream.facts();
            let silent = facts.suite.is_none() && !facts.hello_retry;
            done.map_err(|error| advice::failed(&self.options, &error, silent, None))?;
            if pool.len() <= before {
                return Err(ProgramError::Failed(
                    "the server gives no tickets, and without them nothing can be resumed; turn them \
                     on there, or measure --mode full"
                        .to_owned(),
                ));
            }
        }
        Ok(())
    }

    async fn stream(&self, resume: bool) -> Result<ClientStream<FastOpenStream>, ProgramError> {
        let socket = dial(&self.options).await?;
        let destination = (self.destination)();
        let started = if resume {
            self.connector.start(destination, socket).await
        } else {
            self.connector.start_afresh(destination, socket)
        };
        started.map_err(|error| start_by_option(&error))
    }

    /// Connects until enough connections were started.
    async fn work(&self) {
        while self.begun.fetch_add(1, Ordering::Relaxed) < self.load.count {
            let result = self.connect().await;
            self.progress.inc(1);
            let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
            match result {
                Ok(connection) => {
                    outcome.latencies.push(micros(connection.latency));
                    outcome.resumed += usize::from(connection.resumed);
                    outcome.begun_in_syn += usize::from(connection.begun_in_syn);
                    outcome.early_data_accepted += usize::from(connection.early_data_accepted);
                    outcome.not_as_asked += usize::from(!connection.as_asked);
                }
                Err(error) => *outcome.errors.entry(error.to_string()).or_default() += 1,
            }
        }
    }

    async fn connect(&self) -> Result<Connection, ProgramError> {
        let started = Instant::now();
        let mut stream = self.stream(true).await?;
        let failed = |error: io::Error| ProgramError::Failed(error.to_string());
        if matches!(self.load.mode, LoadMode::ZeroRtt | LoadMode::ZeroRttFs) {
            match stream.handshake_with_early_data(&self.early_data).await {
                EarlyData::NotSent(result) => result.map_err(failed)?,
                EarlyData::Failed { error, .. } => return Err(failed(error)),
                // The outcome is counted below; a measurement never resends.
                _ => (),
            }
        } else {
            stream.handshake().await.map_err(failed)?;
        }
        let latency = started.elapsed();
        // The server may have answered and gone: its answer is here already, and the ticket arrives before its
        // close_notify.
        let _ = stream.shutdown().await;
        while !receive(&mut stream).await.map_err(failed)?.is_empty() {}
        let facts = stream.facts();
        let resumed = facts.psk.is_some_and(PskKind::resumes);
        let early_data_accepted = facts.early_data == EarlyDataStatus::Accepted;
        let as_asked = match self.load.mode {
            LoadMode::Full => !resumed,
            LoadMode::PskDhe => resumed && facts.group.is_some(),
            LoadMode::PskOnly => resumed && facts.group.is_none(),
            LoadMode::ZeroRtt | LoadMode::ZeroRttFs => early_data_accepted,
        };
        let begun_in_syn = matches!(stream.get_ref().opening(), Opening::Taken(_));
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.certificates.add(facts);
        Ok(Connection { latency, resumed, early_data_accepted, as_asked, begun_in_syn })
    }
}

struct Connection {
    latency: Duration,
    resumed: bool,
    early_data_accepted: bool,
    /// The connection began as the mode requires.
    as_asked: bool,
    /// The server accepted data in the SYN.
    begun_in_syn: bool,
}

/// Returns a progress bar on a terminal, otherwise a hidden one.
fn progress(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len}, {per_sec}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// The default early data: an echo server returns it, an HTTP server answers it.
const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";
