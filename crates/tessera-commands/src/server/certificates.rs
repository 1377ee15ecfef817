//! What is known of clients' certificates: told, saved, and forgotten when trust changes.

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

/// A server's cache of certificates, with its owner's report.
pub(super) struct Certificates {
    kept: Arc<KeptClients>,
    report: Arc<Report>,
    /// What was told last.
    told: Mutex<CacheSums>,
}

impl Certificates {
    /// Tells what was found.
    pub(super) fn new(kept: Arc<KeptClients>, report: Arc<Report>) -> Self {
        report.tell(kept.found());
        let told = Mutex::new(kept.metrics().into());
        Self { kept, report, told }
    }

    /// Tells what it did from time to time, and saves it, so that little is lost where the server doesn't end
    /// properly.
    pub(super) async fn keep(self: Arc<Self>) {
        let mut interval = interval(PAUSE);
        let (mut saved, mut trouble) = (self.kept.metrics(), None);
        for round in 1_u64.. {
            interval.tick().await;
            self.tell_news();
            // Tickets of resumptions are in no sum that is told.
            let now = self.kept.metrics();
            if round % SAVED_EACH != 0 || now == saved {
                continue;
            }
            let kept = self.kept.clone();
            // It may wait for a disk.
            let result = spawn_blocking(move || kept.save()).await;
            let failed = result.ok().and_then(Result::err).map(|error| error.to_string());
            match failed.map(|error| NotSaved { error }) {
                None => (saved, trouble) = (now, None),
                // Once, while it is the same.
                Some(failed) if trouble.as_ref() != Some(&failed) => {
                    self.report.tell(&failed);
                    trouble = Some(failed);
                }
                Some(_) => (),
            }
        }
    }

    /// Tells, if it did anything that was not told.
    pub(super) fn tell_news(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.sums();
        if now != *told {
            self.report.tell(&now);
            *told = now;
        }
    }

    /// Clients that were accepted otherwise are forgotten: their certificates are offered to nobody any more.
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

/// The certificates could not be saved. The server goes on.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct NotSaved {
    error: String,
}

impl Fact for NotSaved {
    const EVENT: &'static str = "certificate_cache_failed";
}

/// One line for people.
impl fmt::Display for NotSaved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; after a restart certificates may travel whole once more", self.error)
    }
}

/// How long it waits between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// It is saved each time after so many of these: five minutes.
const SAVED_EACH: u64 = 30;
