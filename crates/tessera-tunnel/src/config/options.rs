//! Command-line options for keys.

use std::time::Duration;

use tessera_kit::{KeySource, times};

// The headings of the help.
pub(super) const PEERS: &str = "The other end";
pub(super) const CERTIFICATES: &str = "This end";
pub(super) const EARLY_DATA: &str = "Early data";
pub(super) const LIMITS: &str = "Limits";
pub(super) const PROCESS: &str = "Process";
pub(super) const STATE: &str = "Restarts";
pub(super) const PROXY: &str = "PROXY protocol";

/// Parses a file, or a credential by its name.
pub(super) fn key_source(text: &str) -> Result<KeySource, &'static str> {
    KeySource::try_from(text.to_owned())
}

/// Parses a time limit.
pub(super) fn limit(text: &str) -> Result<Duration, String> {
    times::within(text, ["1ms", "7d"])
}

/// Parses the time that shutdown may take.
pub(super) fn drain(text: &str) -> Result<Duration, String> {
    times::within(text, ["1ms", "1d"])
}
