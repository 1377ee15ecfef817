//! What the libraries warn of, on standard error.

use log::{LevelFilter, Log, Metadata, Record};

/// Shows the warnings of our own libraries from now on.
pub(crate) fn show() {
    // Only a second call fails.
    if log::set_logger(&StandardError).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tessera")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            crate::say(format_args!("warning: {}", record.args()));
        }
    }

    fn flush(&self) {}
}
