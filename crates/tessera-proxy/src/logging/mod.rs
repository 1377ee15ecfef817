//! Log lines that never block: `tracing` events, including those of libraries, on standard error.

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

/// The target of lines exempt from the rate limit: for the actions of authenticated peers.
///
/// Any other place in the code may write [`LogOptions::lines_per_second`].
///
/// ```
/// use tessera_proxy::logging::{TRUSTED, tracing};
///
/// tracing::info!(target: TRUSTED, peer = "app.example", "the connection ended");
/// ```
pub const TRUSTED: &str = "tessera::trusted";

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people: the time, the level, the message, its fields.
    Text,
    /// For programs: one object a line, with `timestamp`, `level`, `target`, `message`, and the fields.
    Json,
}

impl LogFormat {
    /// Returns text if standard error is a terminal, else JSON.
    #[must_use]
    pub fn of_stderr() -> Self {
        if io::stderr().is_terminal() { Self::Text } else { Self::Json }
    }
}

/// Which lines are written; each level includes those above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Failures of the process.
    Error,
    /// Anything that is not as it should be.
    Warn,
    /// The fate of connections. The default.
    #[default]
    Info,
    /// Details of that.
    Debug,
    /// Everything.
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

/// The log options of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// The format of lines.
    pub format: LogFormat,
    /// The least severe level to write.
    pub level: LogLevel,
    /// How many lines each place in the code may write in a second, and at once. Further ones are left out and counted,
    /// so that an attacker can't fill a disk. Lines to [`TRUSTED`] are exempt. Default: 100.
    pub lines_per_second: NonZeroU32,
}

impl LogOptions {
    /// Uses the defaults for the rest.
    #[must_use]
    pub fn new(format: LogFormat) -> Self {
        Self { format, level: LogLevel::Info, lines_per_second: LINES_PER_SECOND }
    }
}

const LINES_PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Writes the events of all threads to standard error, on a separate thread: logging never blocks. Up to 1 MiB waits
/// for a slow reader; then lines are lost, and a line reports how many.
///
/// # Errors
/// If it was called before, or no thread can be started.
pub fn init(options: LogOptions) -> Result<Log, ProgramError> {
    let failed = |error: io::Error| ProgramError::failed("the log", error);
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned().map_err(failed)?);
    let (log, subscriber) = log_to(stderr, options).map_err(failed)?;
    let twice = |_| ProgramError::failed("the log", "this process has one already");
    tracing::subscriber::set_global_default(subscriber).map_err(twice)?;
    Ok(log)
}

/// Returns a log, and the subscriber that sends it one thread's events, for `tracing::subscriber::with_default`.
///
/// # Errors
/// If no thread can be started.
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
        // If writing here fails, there is nowhere else to report it.
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
    /// Adds `tessera_log_lines_lost`, lost to a slow reader, and `tessera_log_lines_left_out`, over the rate limit.
    pub fn register(&self, metrics: &Metrics) {
        metrics.register_collector(self.clone());
    }

    /// Waits a second for a slow reader; the last act of a process. Later lines are lost.
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
        tell(
            "tessera_log_lines_lost",
            "Lines that were lost, since the reader was too slow.",
            self.sink.lost(),
        )?;
        let help = "Lines that were left out: there were too many like them.";
        tell("tessera_log_lines_left_out", help, self.limits.left_out())
    }
}
