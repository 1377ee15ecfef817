//! What libraries tell by the crate `log`.

use log::{Level, LevelFilter, Metadata, Record};

use super::LogLevel;

/// Makes their records events, with the module that they come from as the field `library`.
pub(super) fn listen(level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::Error,
        LogLevel::Warn => LevelFilter::Warn,
        LogLevel::Info => LevelFilter::Info,
        LogLevel::Debug => LevelFilter::Debug,
        LogLevel::Trace => LevelFilter::Trace,
    };
    // Whoever was there first keeps the records.
    if log::set_logger(&Libraries).is_ok() {
        log::set_max_level(level);
    }
}

struct Libraries;

impl log::Log for Libraries {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let library = record.target();
        // The level of an event is a constant.
        match record.level() {
            Level::Error => tracing::error!(target: "log", library, "{}", record.args()),
            Level::Warn => tracing::warn!(target: "log", library, "{}", record.args()),
            Level::Info => tracing::info!(target: "log", library, "{}", record.args()),
            Level::Debug => tracing::debug!(target: "log", library, "{}", record.args()),
            Level::Trace => tracing::trace!(target: "log", library, "{}", record.args()),
        }
    }

    fn flush(&self) {}
}
