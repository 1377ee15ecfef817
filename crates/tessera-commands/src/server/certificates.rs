//! The cache of clients' certificates: reported, saved, and cleared when trust changes.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tessera::auth::VerifierDigest;
use tessera::handshake::ClientAuthentication;
use tessera_kit::cached_certificates::{CacheSums, KeptClients};
use tessera_kit::report::{Fact, Report};
use tokio::task::spawn_blocking;
use tokio::time::interval;

/// A server's cache of certificates, and the report on it.
pub(super) struct Certificates {
    kept: Arc<KeptClients>,
    report: Arc<Report>,
    /// The sums reported last.
    told: Mutex<CacheSums>,
}

impl Certificates {
    /// Reports what the cache contained at the start.
    pub(super) fn new(kept: Arc<KeptClients>, report: Arc<Report>) -> Self {
        report.print(kept.found());
        let told = Mutex::new(kept.metrics().into());
        Self { kept, report, told }
    }

    /// Reports and saves the cache at intervals, so that a server that is killed loses little.
    pub(super) async fn keep(self: Arc<Self>) {
        let mut interval = interval(PAUSE);
        let (mut saved, mut trouble) = (self.kept.metrics(), None);
        for round in 1_u64.. {
            interval.tick().await;
            self.tell_news();
            // Tickets of resumptions are in none of the reported sums.
            let now = self.kept.metrics();
            if round % SAVED_EACH != 0 || now == saved {
                continue;
            }
            let kept = self.kept.clone();
            // May block on the disk.
            let result = spawn_blocking(move || kept.save()).await;
            let failed = result.ok().and_then(Result::err).map(|error| error.to_string());
            match failed.map(|error| SaveFailure { error }) {
                None => (saved, trouble) = (now, None),
                // Report a failure once, not at every attempt.
                Some(failed) if trouble.as_ref() != Some(&failed) => {
                    self.report.print(&failed);
                    trouble = Some(failed);
                }
                Some(_) => (),
            }
        }
    }

    /// Reports the sums if they have changed.
    pub(super) fn tell_news(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.sums();
        if now != *told {
            self.report.print(&now);
            *told = now;
        }
    }

    /// Forgets clients accepted under other trust: their certificates are never offered again.
    pub(super) fn trust_only(&self, authentication: &ClientAuthentication) {
        let verifier = match authentication {
            ClientAuthentication::Optional(verifier) | ClientAuthentication::Required(verifier) => {
                Some(verifier)
            }
            _ => None,
        };
        let digest =
            verifier.map(|it| VerifierDigest::of(&it.policy(), &tessera_aws_lc::provider()));
        self.kept.cache().retain_policies(digest.as_slice());
    }

    fn sums(&self) -> CacheSums {
        self.kept.metrics().into()
    }
}

/// The certificates could not be saved. The server continues.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct SaveFailure {
    error: String,
}

impl Fact for SaveFailure {
    const EVENT: &'static str = "certificate_cache_failed";
}

/// One line for people.
impl fmt::Display for SaveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; after a restart certificates may travel whole once more", self.error)
    }
}

/// The interval between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// Saves once per this many intervals: five minutes.
const SAVED_EACH: u64 = 30;
