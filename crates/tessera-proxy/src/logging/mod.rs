//! Log lines that delay nobody: `tracing` events, of libraries too, on standard error.

mod format;
mod limit;
mod sink;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use serde::Deserialize;
use tessera_kit::ProgramError;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;

/// The macros that write events: `tracing::info!(peer = %address, "a connection began")`.
pub use tracing;

use self::format::LineFormat;
use self::limit::Limits;
use self::sink::Sink;
use crate::admin::Metrics;

/// The target of lines that are never left out for being many: what peers did who had proved who they are.
///
/// Every other place in the code that writes a line may write [`LogOptions::lines_per_second`] of them.
///
/// ```
/// use tessera_proxy::logging::{TRUSTED, tracing};
///
/// tracing::info!(target: TRUSTED, peer = "app.example", "the connection ended");
/// ```
pub const TRUSTED: &str = "tessera::trusted";

/// What log lines look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people: the time, the level, the message, its fields.
    Text,
    /// For programs: an object a line, with `timestamp`, `level`, `target`, `message`, and the fields.
    Json,
}

impl LogFormat {
    /// Text where standard error is a terminal, else JSON.
    #[must_use]
    pub fn of_stderr() -> Self {
        if io::stderr().is_terminal() { Self::Text } else { Self::Json }
    }
}

/// Which lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What the process can't do.
    Error,
    /// And what is not as it should be.
    Warn,
    /// And what happens to connections. The default.
    #[default]
    Info,
    /// And how.
    Debug,
    /// And everything.
    Trace,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("one of text, json".to_owned()),
        }
    }
}

/// How a process writes its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// What lines look like.
    pub format: LogFormat,
    /// Which are written.
    pub level: LogLevel,
    /// How many lines each place in the code may write in a second, and as many at once. Those beyond are left out,
    /// and counted: an attacker must not be able to fill a disk. Lines to [`TRUSTED`] have no such limit. Default: 100.
    pub lines_per_second: NonZeroU32,
}

impl LogOptions {
    /// With the defaults for the rest.
    #[must_use]
    pub fn new(format: LogFormat) -> Self {
        Self { format, level: LogLevel::Info, lines_per_second: LINES_PER_SECOND }
    }
}

const LINES_PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Writes the events of all threads to standard error, from a thread of its own: whoever writes never waits. Up to
/// 1 MiB waits for a slow reader; then lines are left out, and a line says how many.
///
/// # Errors
/// If it was called before, or there can be no thread.
pub fn init(options: LogOptions) -> Result<Log, ProgramError> {
    let failed = |error: io::Error| ProgramError::failed("the log", error);
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned().map_err(failed)?);
    let (log, subscriber) = log_to(stderr, options).map_err(failed)?;
    let twice = |_| ProgramError::failed("the log", "this process has one already");
    tracing::subscriber::set_global_default(subscriber).map_err(twice)?;
    Ok(log)
}

/// The log, and what gives it the events of one thread, as `tracing::subscriber::with_default` takes it.
///
/// # Errors
/// If there can be no thread.
pub fn log_to(
    to: impl Write + Send + 'static,
    options: LogOptions,
) -> io::Result<(Log, impl Subscriber + Send + Sync)> {
    log_within(to, options, Limits::new(options.lines_per_second))
}

fn log_within(
    to: impl Write + Send + 'static,
    options: LogOptions,
    limits: Limits,
) -> io::Result<(Log, impl Subscriber + Send + Sync)> {
    let sink = Arc::new(Sink::new(to, options.format)?);
    let limits = Arc::new(limits);
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::from(options.level))
        // Whoever can't write here has nowhere else to write.
        .log_internal_errors(false)
        .with_writer(sink.clone())
        .event_format(LineFormat::new(options.format, limits.clone()))
        .finish();
    Ok((Log { sink, limits }, subscriber))
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}

/// The log of a process.
#[derive(Clone)]
pub struct Log {
    sink: Arc<Sink>,
    limits: Arc<Limits>,
}

impl Log {
    /// Adds `tessera_log_lines_lost`, which a slow reader caused, and `tessera_log_lines_left_out`, which were too many.
    pub fn register(&self, metrics: &Metrics) {
        metrics.register_collector(self.clone());
    }

    /// The last that a process does: waits a second for a slow reader. Lines that come later are lost.
    pub fn finish(&self) {
        self.sink.finish(PATIENCE);
    }
}

const PATIENCE: Duration = Duration::from_secs(1);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Collector for Log {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut tell = |name: &str, help: &str, count: u64| {
            let count = ConstCounter::new(count);
            count.encode(encoder.encode_descriptor(name, help, None, count.metric_type())?)
        };
        tell("tessera_log_lines_lost", "Lines that were not taken in time.", self.sink.lost())?;
        let help = "Lines that were left out: there were too many like them.";
        tell("tessera_log_lines_left_out", help, self.limits.left_out())
    }
}
