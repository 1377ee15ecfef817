//! State that a server keeps between connections: ticket keys and one-time keys.
//!
//! They are in memory, in a directory that survives a restart, or shared by a fleet. A reload keeps them.

mod capacity;
mod config;
mod epoch_keys;
mod etcd;
mod fleet;
mod receipts;
mod shared;
mod sidecars;
mod sites;
mod wrapping_key;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tessera::resume::{Receipts, TicketKeys, Vault};
use tessera_kit::clock::unix;
use tessera_kit::state::{self, OpenedState, StateContents, StateKeySetting};
use tessera_kit::{ProgramError, SettingFile, hex};
use tessera_tokio::Answers;
use tessera_vault::{
    EpochKey, Limits, MemoryVault, RotatingRing, Rotation, ServerState, SiteVault, StateOptions,
};
use tokio::task::spawn_blocking;

use self::capacity::CAPACITY;
pub use self::config::{EtcdSection, Fleet, FleetVault, SiteSection, SitesSection, StoresSection};
pub use self::etcd::etcd_client;
use self::fleet::FleetStores;
pub use self::fleet::PoolStores;
use self::receipts::VaultReceipts;
pub use self::shared::open_store;
pub use self::sidecars::{EnvoyPool, SidecarRing};
pub use self::wrapping_key::one_wrapping_key;

/// The stores of one server.
#[derive(Clone)]
pub struct Stores {
    /// Seals and opens tickets.
    pub tickets: Arc<dyn TicketKeys>,
    /// Holds the one-time keys.
    pub vault: Arc<dyn Vault>,
    /// Reports the fate of a flight.
    pub receipts: Arc<dyn Receipts>,
    /// Answers questions that remote stores defer.
    pub answers: Option<Arc<dyn Answers>>,
    kept: MaintainedStores,
}

/// The reloaded keys of stores, not in use yet.
pub struct ReloadedKeys(Option<Vec<EpochKey>>);

/// State that needs periodic maintenance.
#[derive(Clone)]
enum MaintainedStores {
    Memory { ring: Arc<RotatingRing>, vault: Arc<MemoryVault> },
    State(Arc<ServerState>),
    Fleet(Arc<FleetStores>),
}

impl Stores {
    /// Opens the stores of a section, and returns what its state directory held.
    ///
    /// Stores of a fleet run in tasks of the current tokio runtime. They open whether or not etcd and the other sites
    /// can be reached: until then there are no tickets, and early data is rejected.
    ///
    /// # Errors
    /// If a directory, a key or another file is invalid.
    ///
    /// # Panics
    /// With a fleet, outside of a tokio runtime.
    pub fn open(
        section: &StoresSection<'_>,
    ) -> Result<(Self, Option<StateContents>), ProgramError> {
        let state = match section.state {
            None => None,
            Some(directory) => {
                let setting = &format!("[{}] state-key", section.name);
                let witness = &format!("[{}] state-witness", section.name);
                let key = StateKeySetting {
                    setting,
                    source: section.state_key,
                    witness: section
                        .state_witness
                        .map(|path| SettingFile { setting: witness, path }),
                };
                let options = StateOptions { limits: Limits::new(CAPACITY), rotation: ROTATION };
                let setting = &format!("[{}] state", section.name);
                Some(state::open(SettingFile { setting, path: directory }, key, options)?)
            }
        };
        let (state, found) = match state {
            None => (None, None),
            Some(OpenedState { state, found }) => (Some(Arc::new(state)), Some(found)),
        };
        let stores = match (section.fleet, state) {
            (Some(fleet), state) => {
                let opened = FleetStores::open(section.name, fleet, state.clone());
                Self::of_fleet(opened.inspect_err(|_| state.iter().for_each(give_back))?)
            }
            (None, Some(state)) => Self::of_state(state),
            (None, None) => Self::in_memory(),
        };
        Ok((stores, found))
    }

    /// Reads the keys and files of a section's stores without opening any state, which a running process may hold.
    /// Returns stores in memory, good enough for checking the rest.
    ///
    /// # Errors
    /// If one of them is invalid.
    pub fn check(section: &StoresSection<'_>) -> Result<Self, ProgramError> {
        if let Some(directory) = section.state {
            let setting = &format!("[{}] state-key", section.name);
            state::check(directory, setting, section.state_key)?;
        }
        section.fleet.map_or(Ok(()), |fleet| FleetStores::check(section.name, fleet))?;
        Ok(Self::in_memory())
    }

    /// Opens the stores of a server of a pool, in tasks of the current tokio runtime. They open whether or not the store and
    /// the other servers can be reached.
    ///
    /// # Errors
    /// If a key or another file is invalid, or an address can't be bound.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open_pool(pool: PoolStores<'_>) -> Result<Self, ProgramError> {
        FleetStores::open_pool(pool).map(Self::of_fleet)
    }

    /// Returns the vault of a server of a pool, whose secrets move with their clients.
    pub fn moving(&self) -> Option<Arc<SiteVault>> {
        match &self.kept {
            MaintainedStores::Fleet(fleet) => fleet.moving(),
            MaintainedStores::Memory { .. } | MaintainedStores::State(_) => None,
        }
    }

    /// Returns stores in memory.
    pub fn in_memory() -> Self {
        let ring = Arc::new(RotatingRing::with_rotation(&tessera_aws_lc::provider(), ROTATION));
        let vault = Arc::new(MemoryVault::new(CAPACITY));
        Self {
            tickets: ring.clone(),
            vault: vault.clone(),
            receipts: Arc::new(VaultReceipts(vault.clone())),
            answers: None,
            kept: MaintainedStores::Memory { ring, vault },
        }
    }

    fn of_state(state: Arc<ServerState>) -> Self {
        Self {
            tickets: state.ring(),
            vault: state.vault(),
            receipts: Arc::new(VaultReceipts(state.vault())),
            answers: None,
            kept: MaintainedStores::State(state),
        }
    }

    fn of_fleet(fleet: FleetStores) -> Self {
        Self {
            tickets: fleet.tickets(),
            vault: fleet.vault(),
            receipts: fleet.receipts(),
            answers: fleet.answers(),
            kept: MaintainedStores::Fleet(Arc::new(fleet)),
        }
    }

    /// In a fleet of sites: returns the name of this server's vault, in hexadecimal, for the other sites'
    /// configurations.
    pub fn vault_name(&self) -> Option<String> {
        match &self.kept {
            MaintainedStores::Fleet(fleet) => {
                fleet.vault_name().map(|life| hex::encode(&life.vault))
            }
            MaintainedStores::Memory { .. } | MaintainedStores::State(_) => None,
        }
    }

    /// Reloads the epoch keys of a fleet from their file, without applying them yet.
    pub fn load_again(&self) -> Result<ReloadedKeys, ProgramError> {
        match &self.kept {
            MaintainedStores::Fleet(fleet) => fleet.load_again().map(ReloadedKeys),
            MaintainedStores::Memory { .. } | MaintainedStores::State(_) => Ok(ReloadedKeys(None)),
        }
    }

    /// Applies reloaded keys. Keys that left their file are destroyed.
    pub fn exchange(&self, loaded: ReloadedKeys) {
        if let (MaintainedStores::Fleet(fleet), Some(keys)) = (&self.kept, loaded.0) {
            fleet.exchange(keys);
        }
    }

    /// Rotates keys and purges expired ones, forever. Calls `warn` when an error begins, and when it changes: the
    /// server continues, but a restart may lose ticket keys.
    pub async fn keep_on(&self, warn: impl Fn(&str)) -> Infallible {
        let mut told = None;
        loop {
            tokio::time::sleep(KEEP_EVERY).await;
            let trouble = self.keep().await.err().map(|error| error.to_string());
            trouble.iter().filter(|_| trouble != told).for_each(|trouble| warn(trouble));
            told = trouble;
        }
    }

    async fn keep(&self) -> Result<(), ProgramError> {
        match &self.kept {
            MaintainedStores::Memory { ring, vault } => {
                ring.keep(unix());
                vault.purge(unix());
                Ok(())
            }
            MaintainedStores::State(state) => keep_state(state.clone()).await,
            MaintainedStores::Fleet(fleet) => {
                fleet.purge();
                match fleet.state() {
                    Some(state) => keep_state(state).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// Saves loaded state for the next start, after a failed one: it exists nowhere else. Blocks.
    pub fn give_back(&self) {
        let state = match &self.kept {
            MaintainedStores::Memory { .. } => None,
            MaintainedStores::State(state) => Some(state.clone()),
            MaintainedStores::Fleet(fleet) => fleet.state(),
        };
        state.iter().for_each(give_back);
    }

    /// Hands persistent state to the next process. Call it after the last connection, since the vault returns nothing
    /// afterwards.
    ///
    /// # Errors
    /// If it can't be written: it is lost then.
    pub async fn close(&self) -> Result<(), ProgramError> {
        let state = match &self.kept {
            MaintainedStores::Memory { .. } => None,
            MaintainedStores::State(state) => Some(state.clone()),
            MaintainedStores::Fleet(fleet) => {
                fleet.close().await;
                fleet.state()
            }
        };
        let Some(state) = state else { return Ok(()) };
        let closed = spawn_blocking(move || state.close(unix())).await;
        match closed {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(ProgramError::Failed(format!(
                "{error}; data that could not be written is lost"
            ))),
            Err(error) => Err(ProgramError::failed("closing the state", error)),
        }
    }
}

fn give_back(state: &Arc<ServerState>) {
    // The failed start is reported, not this.
    let _ = state.close(unix());
}

/// May wait for a disk.
async fn keep_state(state: Arc<ServerState>) -> Result<(), ProgramError> {
    match spawn_blocking(move || state.keep(unix())).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(ProgramError::Failed(format!(
            "{error}; a restart may lose ticket keys, and expired ones are still in the state"
        ))),
        Err(error) => Err(ProgramError::failed("keeping the state", error)),
    }
}

/// The interval of maintenance: an expired one-time key may remain this long.
const KEEP_EVERY: Duration = Duration::from_secs(60);

/// A ticket key seals for two hours, and opens for another day: the lifetime of tickets.
const ROTATION: Rotation = Rotation {
    issue_for: Duration::from_secs(2 * 3600),
    open_for: Duration::from_secs(24 * 3600),
    skew: Rotation::SKEW,
};
