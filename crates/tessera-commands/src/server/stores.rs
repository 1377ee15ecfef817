//! What the server keeps between connections: ticket keys, one-time keys, tickets that were used.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tessera_kit::cached_certificates::KeptClients;
use tessera_kit::clock::unix;
use tessera_kit::report::{Fact, Report};
use tessera_kit::state::{self, Opened, StateFound, StateKeySetting};
use tessera_kit::{ProgramError, SettingFile};
use tessera_vault::{
    Limits, MemoryRegister, MemoryVault, RotatingRing, Rotation, ServerState, StateError,
    StateOptions,
};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::options::ServeOptions;

/// The stores of one server.
#[derive(Clone)]
pub(super) struct Stores {
    pub(super) ring: Arc<RotatingRing>,
    pub(super) vault: Arc<MemoryVault>,
    pub(super) register: Arc<MemoryRegister>,
    /// Ring and vault, where they survive the process.
    state: Option<Arc<ServerState>>,
    /// What is known of clients' certificates, where that is wanted.
    pub(super) certificates: Option<Arc<KeptClients>>,
}

impl Stores {
    /// New ones, or those of the state, with what was found there.
    pub(super) fn new(options: &ServeOptions) -> Result<(Self, Option<StateFound>), ProgramError> {
        let rotation = Rotation { issue_for: 2 * ROTATION, open_for: options.tickets.lifetime };
        let register = Arc::new(MemoryRegister::new(CAPACITY, unix()));
        let certificates = match options.common.certificates_directory() {
            Some(directory) => {
                Some(Arc::new(KeptClients::open(directory, &tessera_aws_lc::provider())?))
            }
            None => None,
        };
        let Some(directory) = &options.state else {
            let ring = RotatingRing::with_rotation(&tessera_aws_lc::provider(), rotation);
            let vault = Arc::new(MemoryVault::new(CAPACITY));
            let ring = Arc::new(ring);
            return Ok((Self { ring, vault, register, state: None, certificates }, None));
        };
        let state_options = StateOptions { limits: Limits::new(CAPACITY), rotation };
        let witness = options.state_witness.as_deref();
        let key = StateKeySetting {
            setting: "--state-key",
            source: options.state_key.as_ref(),
            witness: witness.map(|path| SettingFile { setting: "--state-witness", path }),
        };
        let Opened { state, found } = state::open(directory, key, state_options)?;
        let (ring, vault, state) = (state.ring(), state.vault(), Some(Arc::new(state)));
        Ok((Self { ring, vault, register, state, certificates }, Some(found)))
    }

    /// Changes keys in time, and forgets what has expired.
    pub(super) async fn keep(self, report: Arc<Report>) {
        let mut told = None;
        loop {
            sleep(PURGE).await;
            let Some(state) = self.state.clone() else {
                self.ring.keep(unix());
                self.vault.purge(unix());
                continue;
            };
            // It may wait for a disk.
            let kept = spawn_blocking(move || state.keep(unix())).await;
            let trouble = kept.ok().and_then(Result::err).map(StateTrouble::new);
            if let Some(trouble) = trouble.as_ref().filter(|it| told.as_ref() != Some(*it)) {
                report.tell(trouble);
            }
            told = trouble;
        }
    }

    /// Hands what survives the process to the next one.
    pub(super) fn close(&self) -> Result<(), ProgramError> {
        let saved = self.certificates.as_ref().map_or(Ok(()), |kept| kept.save());
        let Some(state) = &self.state else { return saved };
        let closed = state.close(unix()).map_err(|error| {
            ProgramError::Failed(format!("{error}; what could not be written is lost"))
        });
        closed.and(saved)
    }
}

/// The state could not be written. The server goes on.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct StateTrouble {
    error: String,
}

impl Fact for StateTrouble {
    const EVENT: &'static str = "state_failed";
}

impl StateTrouble {
    fn new(error: StateError) -> Self {
        Self { error: error.to_string() }
    }
}

/// One line for people.
impl fmt::Display for StateTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; a restart may lose ticket keys, and those that have ended are still there",
            self.error
        )
    }
}

/// How many secrets, or used tickets, there may be; each takes some hundred bytes when it is there.
const CAPACITY: usize = 1_000_000;

/// How long one ticket key seals alone.
const ROTATION: Duration = Duration::from_secs(3600);

/// One-time keys that nobody used are destroyed this often.
const PURGE: Duration = Duration::from_secs(60);
