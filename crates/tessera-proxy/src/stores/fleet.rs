//! The stores of several servers behind one name: a ring in etcd, and one-time keys in etcd or at each site.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera::resume::{Incarnation, Receipts, TicketKeys, Vault};
use tessera_etcd::{EtcdVault, VaultOptions};
use tessera_kit::clock::unix;
use tessera_kit::{KeySource, ProgramError, SettingFile};
use tessera_ring::{FleetRing, RingOptions};
use tessera_store::Store;
use tessera_tokio::Answers;
use tessera_vault::{
    EpochKey, MemoryVault, ServerState, SiteVault, TicketKeyRing, WrappingKeys, WrappingPurpose,
};

use super::config::{Fleet, FleetVault, SitesSection};
use super::epoch_keys;
use super::etcd::etcd_client;
use super::receipts::VaultReceipts;
use super::sidecars::EnvoyPool;
use super::sites::{SiteHome, Sites};
use super::wrapping_key::one_wrapping_key;

/// The stores of one server of a fleet.
pub(super) struct FleetStores {
    tickets: Arc<dyn TicketKeys>,
    /// Taken when it is closed.
    ring: Mutex<Option<FleetRing>>,
    one_time_keys: OneTimeKeys,
}

enum OneTimeKeys {
    Etcd {
        vault: Arc<EtcdVault>,
        epochs: Epochs,
    },
    Sites(Sites),
    /// There are none.
    Nowhere(Arc<MemoryVault>),
}

/// The wrapping keys of a vault in etcd, and their file.
struct Epochs {
    setting: String,
    path: PathBuf,
    keys: Arc<WrappingKeys>,
}

/// What the servers of a pool share, in any store. Each has a vault of its own, and one-time keys move with their clients.
#[derive(Clone)]
pub struct PoolStores<'c> {
    /// The section's name in errors.
    pub section: &'c str,
    /// Where the ring of ticket keys is.
    pub store: Arc<dyn Store>,
    /// The prefix of the ring's entries there.
    pub prefix: String,
    /// Wraps ticket keys there.
    pub key: &'c KeySource,
    /// The vault of this server, and the others. `None`: there are no one-time keys.
    pub sites: Option<&'c SitesSection>,
    /// The Envoys with which this server shares its tickets, in place of a ring of its own kind.
    pub envoys: Option<EnvoyPool<'c>>,
}

impl FleetStores {
    pub(super) fn open(
        name: &str,
        fleet: &Fleet,
        state: Option<Arc<ServerState>>,
    ) -> Result<Self, ProgramError> {
        let section = format!("{name}.fleet");
        let client = etcd_client(&section, &fleet.etcd, ETCD_DEADLINE)?;
        let setting = format!("[{section}] ring-key");
        let prefix = format!("{}ring/", fleet.etcd.prefix);
        let store = Arc::new(client.clone());
        let (ring, tickets) = open_ring(&setting, &fleet.ring_key, store, prefix)?;
        let one_time_keys = match fleet.vault {
            FleetVault::Etcd => {
                let epochs = Epochs::open(&section, fleet)?;
                let options = VaultOptions::new(format!("{}vault/", fleet.etcd.prefix));
                let provider = tessera_aws_lc::provider();
                let vault = EtcdVault::open(client, &provider, epochs.keys.clone(), options);
                OneTimeKeys::Etcd { vault: Arc::new(vault), epochs }
            }
            FleetVault::Sites => {
                let (label, sites) = sites_of(&section, fleet)?;
                OneTimeKeys::Sites(Sites::open(&label, sites, SiteHome::Stays(state))?)
            }
        };
        Ok(Self { tickets, ring: Mutex::new(Some(ring)), one_time_keys })
    }

    /// Opens the stores of a server of a pool.
    pub(super) fn open_pool(pool: PoolStores<'_>) -> Result<Self, ProgramError> {
        let PoolStores { section, store, prefix, key, sites, envoys } = pool;
        let (ring, tickets): (_, Arc<dyn TicketKeys>) = match envoys {
            Some(envoys) => {
                let (ring, tickets) = envoys.open(store)?;
                (ring, tickets)
            }
            None => {
                let prefix = format!("{prefix}ring/");
                let (ring, tickets) = open_ring("[pool] key", key, store, prefix)?;
                (ring, tickets)
            }
        };
        let one_time_keys = match sites {
            Some(sites) => {
                let label = format!("{section}.one-time-keys");
                OneTimeKeys::Sites(Sites::open(&label, sites, SiteHome::Moves)?)
            }
            None => OneTimeKeys::Nowhere(Arc::new(MemoryVault::new(0))),
        };
        Ok(Self { tickets, ring: Mutex::new(Some(ring)), one_time_keys })
    }

    /// Returns the vault whose secrets move with their clients.
    pub(super) fn moving(&self) -> Option<Arc<SiteVault>> {
        match &self.one_time_keys {
            OneTimeKeys::Sites(sites) => sites.moving(),
            OneTimeKeys::Etcd { .. } | OneTimeKeys::Nowhere(_) => None,
        }
    }

    /// Reads all files, without connecting.
    pub(super) fn check(name: &str, fleet: &Fleet) -> Result<(), ProgramError> {
        let section = format!("{name}.fleet");
        etcd_client(&section, &fleet.etcd, ETCD_DEADLINE)?;
        fleet.ring_key.read(&format!("[{section}] ring-key"), "ring", Path::new(""))?;
        match fleet.vault {
            FleetVault::Etcd => Epochs::open(&section, fleet).map(|_| ()),
            FleetVault::Sites => {
                let (label, sites) = sites_of(&section, fleet)?;
                Sites::files(&label, sites).map(|_| ())
            }
        }
    }

    pub(super) fn tickets(&self) -> Arc<dyn TicketKeys> {
        self.tickets.clone()
    }

    pub(super) fn vault(&self) -> Arc<dyn Vault> {
        match &self.one_time_keys {
            OneTimeKeys::Etcd { vault, .. } => vault.clone(),
            OneTimeKeys::Sites(sites) => sites.site.clone(),
            OneTimeKeys::Nowhere(vault) => vault.clone(),
        }
    }

    pub(super) fn receipts(&self) -> Arc<dyn Receipts> {
        match &self.one_time_keys {
            OneTimeKeys::Etcd { vault, .. } => vault.clone(),
            OneTimeKeys::Sites(sites) => Arc::new(VaultReceipts(sites.site.clone())),
            OneTimeKeys::Nowhere(vault) => Arc::new(VaultReceipts(vault.clone())),
        }
    }

    pub(super) fn answers(&self) -> Option<Arc<dyn Answers>> {
        match &self.one_time_keys {
            OneTimeKeys::Etcd { vault, .. } => Some(vault.clone()),
            OneTimeKeys::Sites(sites) => Some(Arc::new(sites.answers())),
            OneTimeKeys::Nowhere(_) => None,
        }
    }

    /// Returns the name of this server's vault, if other sites need it.
    pub(super) fn vault_name(&self) -> Option<Incarnation> {
        match &self.one_time_keys {
            OneTimeKeys::Etcd { .. } | OneTimeKeys::Nowhere(_) => None,
            OneTimeKeys::Sites(sites) => sites.site.incarnation(),
        }
    }

    pub(super) fn load_again(&self) -> Result<Option<Vec<EpochKey>>, ProgramError> {
        match &self.one_time_keys {
            OneTimeKeys::Etcd { epochs, .. } => epochs.load().map(Some),
            OneTimeKeys::Sites(_) | OneTimeKeys::Nowhere(_) => Ok(None),
        }
    }

    pub(super) fn exchange(&self, keys: Vec<EpochKey>) {
        if let OneTimeKeys::Etcd { epochs, .. } = &self.one_time_keys {
            // They were installed before in a test, to see whether they are valid.
            let _ = epochs.keys.install(keys, unix());
        }
    }

    pub(super) fn purge(&self) {
        match &self.one_time_keys {
            OneTimeKeys::Etcd { epochs, .. } => {
                epochs.keys.purge(unix());
            }
            OneTimeKeys::Sites(sites) => sites.purge(),
            OneTimeKeys::Nowhere(_) => (),
        }
    }

    /// Announces that this server is gone, so that the others don't wait for it.
    pub(super) async fn close(&self) {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ring) = ring {
            ring.close().await;
        }
    }

    pub(super) fn state(&self) -> Option<Arc<ServerState>> {
        match &self.one_time_keys {
            OneTimeKeys::Sites(sites) => sites.state(),
            OneTimeKeys::Etcd { .. } | OneTimeKeys::Nowhere(_) => None,
        }
    }
}

impl Epochs {
    fn open(section: &str, fleet: &Fleet) -> Result<Self, ProgramError> {
        let setting = format!("[{section}] epoch-keys");
        let Some(path) = fleet.epoch_keys.clone() else {
            return Err(ProgramError::settings(format!(
                "{setting} is missing: vault = \"etcd\" wraps one-time keys under them"
            )));
        };
        let provider = tessera_aws_lc::provider();
        let keys = Arc::new(WrappingKeys::new(&provider, WrappingPurpose::Secrets));
        let epochs = Self { setting, path, keys };
        let installed = epochs.keys.install(epochs.load()?, unix());
        installed.map_err(|error| ProgramError::in_file(&epochs.path, error))?;
        Ok(epochs)
    }

    /// Loads the keys of the file, and checks that they can be installed.
    fn load(&self) -> Result<Vec<EpochKey>, ProgramError> {
        let file = SettingFile { setting: &self.setting, path: &self.path };
        let text = epoch_keys::read(file)?;
        let trial = WrappingKeys::new(&tessera_aws_lc::provider(), WrappingPurpose::Secrets);
        let installed = trial.install(epoch_keys::parse(file, &text)?, unix());
        installed.map_err(|error| ProgramError::in_file(&self.path, error))?;
        epoch_keys::parse(file, &text)
    }
}

/// Opens the ring of ticket keys, wrapped under the key that `setting` names.
fn open_ring(
    setting: &str,
    key: &KeySource,
    store: Arc<dyn Store>,
    prefix: String,
) -> Result<(FleetRing, Arc<TicketKeyRing>), ProgramError> {
    let provider = tessera_aws_lc::provider();
    // It protects keys in the store: no directory could contain both.
    let key = key.read(setting, "ring", Path::new(""))?;
    let wrapping = one_wrapping_key(setting, WrappingPurpose::TicketKeys, RING_KEY_ID, &key)?;
    let options = RingOptions::new(prefix);
    FleetRing::of_server(store, &provider, Arc::new(wrapping), options).map_err(|_| {
        ProgramError::failed("the ring of ticket keys", "the system has no random bytes")
    })
}

/// Returns the section of a fleet's sites, and its name.
fn sites_of<'f>(
    section: &str,
    fleet: &'f Fleet,
) -> Result<(String, &'f SitesSection), ProgramError> {
    match &fleet.sites {
        Some(sites) => Ok((format!("{section}.sites"), sites)),
        None => Err(ProgramError::settings(format!(
            "[{section}] sites is missing: vault = \"sites\" needs it to know the others"
        ))),
    }
}

/// There is one key, replaced only while all servers are down: its id carries no information.
const RING_KEY_ID: [u8; 16] = *b"tunnel ring key\0";

/// Plenty for a healthy cluster; if it hangs, clients wait this long.
const ETCD_DEADLINE: Duration = Duration::from_millis(250);
