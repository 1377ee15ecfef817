//! Reloads certificate, known keys, authorities, revocation lists and PSKs on SIGHUP.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tessera_kit::credential::fingerprint;
use tessera_kit::live::{Changes, LiveConfig};
use tessera_kit::report::{Fact, Report};
use tessera_kit::signals::Hangups;
use tessera_kit::{ProgramError, files};
use tessera_tokio::Acceptor;
use tokio::task::spawn_blocking;

use super::certificates::Certificates;
use crate::certificate;

/// Reloads the files on each request, and reports the result.
pub(super) async fn on(
    mut hangups: Hangups,
    live: Arc<LiveConfig<Acceptor>>,
    certificates: Option<Arc<Certificates>>,
    report: Arc<Report>,
) {
    loop {
        hangups.next().await;
        let shared = live.clone();
        let reload = move || files::within(files::RELOAD_LIMIT, || shared.reload());
        let reloaded = spawn_blocking(reload).await;
        let reloaded = reloaded
            .unwrap_or_else(|error| Err(ProgramError::failed("reloading the files", error)));
        match reloaded {
            Ok(changed) => {
                if let Some(certificates) = &certificates {
                    certificates.trust_only(&live.target().config().client_authentication);
                }
                report.print(&ReloadReport::new(&live, changed));
            }
            Err(error) => report.print(&ReloadFailure::new(&live, error)),
        }
    }
}

/// The files were reloaded, and apply to new connections.
#[derive(Serialize)]
struct ReloadReport {
    /// How many configurations were loaded, this one included.
    generation: u64,
    /// The SHA-256 of the server's certificate.
    fingerprint: Option<String>,
    certificate_changed: bool,
    /// The sessions of clients with certificates have ended.
    ended_sessions_of_certificates: bool,
    /// Sessions from a PSK that is gone or has another secret have ended.
    ended_sessions_of_psks: bool,
}

impl Fact for ReloadReport {
    const EVENT: &'static str = "reloaded";
}

impl ReloadReport {
    fn new(live: &LiveConfig<Acceptor>, changed: Changes) -> Self {
        let config = live.target().config();
        let certificate = certificate::of(&config.credentials);
        Self {
            generation: changed.generation,
            fingerprint: certificate.map(|der| fingerprint(der)),
            certificate_changed: changed.certificates,
            ended_sessions_of_certificates: changed.peers,
            ended_sessions_of_psks: changed.psks,
        }
    }
}

impl fmt::Display for ReloadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reloaded, generation {}", self.generation)?;
        if let (true, Some(fingerprint)) = (self.certificate_changed, &self.fingerprint) {
            write!(f, "; certificate SHA-256 {fingerprint}")?;
        }
        if self.ended_sessions_of_certificates {
            f.write_str("; sessions of clients with certificates have ended")?;
        }
        if self.ended_sessions_of_psks {
            f.write_str("; sessions of removed PSKs have ended")?;
        }
        Ok(())
    }
}

/// The reload failed, and nothing has changed.
#[derive(Serialize)]
struct ReloadFailure {
    /// That of the configuration still in use.
    generation: u64,
    /// How many reloads have failed since the beginning.
    failures: u64,
    /// The file at fault, if it is a single one.
    file: Option<String>,
    line: Option<usize>,
    reason: String,
}

impl Fact for ReloadFailure {
    const EVENT: &'static str = "reload_failed";
}

impl ReloadFailure {
    fn new(live: &LiveConfig<Acceptor>, error: ProgramError) -> Self {
        let counts = live.counts();
        let (file, line, reason) = match error {
            ProgramError::File { path, line, what } => {
                (Some(path.display().to_string()), line, what)
            }
            other => (None, None, other.to_string()),
        };
        let (generation, failures) = (counts.generation, counts.failures);
        Self { generation, failures, file, line, reason }
    }
}

impl fmt::Display for ReloadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not reloaded, generation {} stays in use: ", self.generation)?;
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            match self.line {
                Some(line) => write!(f, "{line}: ")?,
                None => f.write_str(" ")?,
            }
        }
        f.write_str(&self.reason)
    }
}
