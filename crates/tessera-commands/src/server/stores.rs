//! What the server keeps between connections: ticket keys, one-time keys, used tickets.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tessera_kit::cached_certificates::KeptClients;
use tessera_kit::clock::unix;
use tessera_kit::report::{Fact, Report};
use tessera_kit::state::{self, OpenedState, StateContents, StateKeySetting};
use tessera_kit::{ProgramError, SettingFile};
use tessera_tokio::{FrozenAssociation, ResetKey};
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
    /// Ring and vault, if they survive the process.
    state: Option<Arc<ServerState>>,
    /// Associations for the next process, if the state can keep them.
    moving_out: Option<Arc<Mutex<Vec<FrozenAssociation>>>>,
    /// Cached certificates of clients, if enabled.
    pub(super) certificates: Option<Arc<KeptClients>>,
}

impl Stores {
    /// Creates the stores, or opens those of the state directory and returns what it found there.
    pub(super) fn new(
        options: &ServeOptions,
    ) -> Result<(Self, Option<StateContents>), ProgramError> {
        let rotation = Rotation {
            issue_for: 2 * ROTATION,
            open_for: options.tickets.lifetime,
            ..Rotation::default()
        };
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
            let (state, moving_out) = (None, None);
            return Ok((Self { ring, vault, register, state, moving_out, certificates }, None));
        };
        let state_options = StateOptions { limits: Limits::new(CAPACITY), rotation };
        let witness = options.state_witness.as_deref();
        let key = StateKeySetting {
            setting: "--state-key",
            source: options.state_key.as_ref(),
            witness: witness.map(|path| SettingFile { setting: "--state-witness", path }),
        };
        let OpenedState { state, found } =
            state::open(SettingFile { setting: "--state", path: directory }, key, state_options)?;
        let (ring, vault, state) = (state.ring(), state.vault(), Some(Arc::new(state)));
        // An old copy would bring them back, with nonces that were used since.
        let moving_out = found.refuses_old_copies().then(Arc::default);
        Ok((Self { ring, vault, register, state, moving_out, certificates }, Some(found)))
    }

    /// Returns the key with which this server, after a restart, informs clients over UDP that it has lost their
    /// connections.
    pub(super) fn reset_key(&self) -> Option<ResetKey> {
        self.state.as_ref().map(|state| ResetKey::new(state.reset_key()))
    }

    /// Takes the associations that the previous process left.
    pub(super) fn take_associations(&self) -> Result<Vec<FrozenAssociation>, StateError> {
        let Some(state) = &self.state else { return Ok(Vec::new()) };
        Ok(state.take_associations()?.into_iter().map(FrozenAssociation::new).collect())
    }

    /// Returns whether the next process can have this one's associations.
    pub(super) fn keeps_associations(&self) -> bool {
        self.moving_out.is_some()
    }

    /// Keeps associations for the next process.
    pub(super) fn keep_associations(&self, frozen: Vec<FrozenAssociation>) {
        if let Some(moving_out) = &self.moving_out {
            moving_out.lock().unwrap_or_else(PoisonError::into_inner).extend(frozen);
        }
    }

    /// Rotates keys in time, and removes expired entries.
    pub(super) async fn keep(self, report: Arc<Report>) {
        let mut told = None;
        loop {
            sleep(PURGE).await;
            let Some(state) = self.state.clone() else {
                self.ring.keep(unix());
                self.vault.purge(unix());
                continue;
            };
            // May block on the disk.
            let kept = spawn_blocking(move || state.keep(unix())).await;
            let trouble = kept.ok().and_then(Result::err).map(StateTrouble::new);
            if let Some(trouble) = trouble.as_ref().filter(|it| told.as_ref() != Some(*it)) {
                report.print(trouble);
            }
            told = trouble;
        }
    }

    /// Writes the state for the next process.
    pub(super) fn close(&self) -> Result<(), ProgramError> {
        let saved = self.certificates.as_ref().map_or(Ok(()), |kept| kept.save());
        let Some(state) = &self.state else { return saved };
        let moving_out = self.moving_out.as_ref().map(|moving_out| {
            std::mem::take(&mut *moving_out.lock().unwrap_or_else(PoisonError::into_inner))
        });
        let associations = moving_out.into_iter().flatten().map(FrozenAssociation::into_bytes);
        let closed = state.close_with(associations.collect(), unix()).map_err(|error| {
            ProgramError::Failed(format!("{error}; data that could not be written is lost"))
        });
        closed.and(saved)
    }
}

/// The state could not be written. The server continues.
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
            "{}; a restart may lose ticket keys, and expired ones are still in the state",
            self.error
        )
    }
}

/// The most secrets, or used tickets; each takes some hundred bytes.
const CAPACITY: usize = 1_000_000;

/// How long a ticket key is used for sealing.
const ROTATION: Duration = Duration::from_secs(3600);

/// How often unused one-time keys that have expired are destroyed.
const PURGE: Duration = Duration::from_secs(60);
