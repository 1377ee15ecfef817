//! A server's state between connections; a row begins with all of it empty.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    AlreadyUsed, FlightHandle, PutRefused, PutSecret, SingleUseRegister, TakeAnswer, TakePurpose,
    TakeSecret, TicketKeys, Vault,
};
use tessera_vault::{MemoryRegister, MemoryVault, TicketKey, TicketKeyRing};

use super::pipes::Result;
use crate::control::StolenServerState;

/// More than a row needs: a full store would turn measured connections into others.
const CAPACITY: usize = 100_000;

/// The stores of a server.
pub(crate) struct Stores {
    pub(super) ring: Arc<dyn TicketKeys>,
    pub(super) vault: Arc<dyn Vault>,
    pub(super) register: Arc<dyn SingleUseRegister>,
    /// What the adversary finds, if there is one.
    watched: Option<WatchedStores>,
}

struct WatchedStores {
    ticket_key: Vec<u8>,
    vault: Arc<WatchedVault>,
}

impl Stores {
    /// Creates empty stores; `attacked` if the adversary will steal their contents.
    pub(crate) fn new(attacked: bool) -> Result<Self> {
        let ticket_key = new_ticket_key()?;
        let ring = ring_of(&ticket_key)?;
        Ok(Self::with_ring(ring, unix_time()?, attacked.then_some(ticket_key)))
    }

    /// Empty stores of a site that shares this ticket key with another.
    pub(super) fn of_site(ticket_key: &[u8]) -> Result<Self> {
        Ok(Self::with_ring(ring_of(ticket_key)?, unix_time()?, None))
    }

    /// Returns the stores of another server that has the same ticket keys, and began now.
    pub(super) fn of_another(&self) -> Result<Self> {
        Ok(Self::with_ring(self.ring.clone(), unix_time()?, None))
    }

    /// Returns the same with another vault, which no adversary watches.
    pub(crate) fn with_vault(&self, vault: Arc<dyn Vault>) -> Self {
        let (ring, register) = (self.ring.clone(), self.register.clone());
        Self { ring, vault, register, watched: None }
    }

    fn with_ring(ring: Arc<dyn TicketKeys>, now: Duration, attacked: Option<Vec<u8>>) -> Self {
        let vault = MemoryVault::new(CAPACITY);
        let (vault, watched): (Arc<dyn Vault>, _) = if let Some(ticket_key) = attacked {
            let vault = Arc::new(WatchedVault { vault, kept: Mutex::default() });
            (vault.clone(), Some(WatchedStores { ticket_key, vault }))
        } else {
            (Arc::new(vault), None)
        };
        // A register refuses tickets from before it began, and tickets have a resolution of a millisecond: the first
        // ticket may be of the same one.
        let began = now.saturating_sub(Duration::from_millis(1));
        let register = Arc::new(MemoryRegister::new(CAPACITY, began));
        Self { ring, vault, register, watched }
    }

    /// Everything that the stores hold, and once held.
    pub(super) fn steal(&self) -> Result<StolenServerState> {
        let watched = self.watched.as_ref().ok_or("the stores were not watched")?;
        let (vault_before, vault_after) = watched.vault.steal(unix_time()?);
        Ok(StolenServerState { ticket_key: watched.ticket_key.clone(), vault_before, vault_after })
    }
}

/// A vault that copies every secret put into it, like an adversary who reads it all the time. The vault itself decides
/// what it gives out.
struct WatchedVault {
    vault: MemoryVault,
    kept: Mutex<HashMap<FlightHandle, Vec<u8>>>,
}

impl WatchedVault {
    /// Returns all secrets ever put, and those that the vault still gives out.
    fn steal(&self, unix: Duration) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let left = kept.keys().filter_map(|handle| {
            let question = TakeSecret::new(*handle, TakePurpose::Accept, Some(unix));
            match self.vault.take(&question) {
                Reply::Now(TakeAnswer::Taken(secret)) => Some(secret.encode().to_vec()),
                _ => None,
            }
        });
        (kept.values().cloned().collect(), left.collect())
    }
}

impl Vault for WatchedVault {
    fn put(&self, put: PutSecret<'_>) -> std::result::Result<(), PutRefused> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(put.handle, put.secret.encode().to_vec());
        self.vault.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        self.vault.take(question)
    }

    fn burn(&self, handle: &FlightHandle) {
        self.vault.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.vault.key_form()
    }

    fn len(&self) -> usize {
        self.vault.len()
    }
}

/// A register that remembers nothing.
pub(super) struct ForgetfulRegister;

impl SingleUseRegister for ForgetfulRegister {
    fn claim(
        &self,
        _: &[u8; 32],
        _: Duration,
        _: Duration,
        _: Duration,
    ) -> std::result::Result<(), AlreadyUsed> {
        Ok(())
    }
}

/// Returns a key that outlives the row, encoded.
pub(crate) fn new_ticket_key() -> Result<Vec<u8>> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let key = TicketKey::generate(&tessera_aws_lc::provider(), unix_time()?, DAY, DAY);
    Ok(key.map_err(|_| "no random bytes for a ticket key")?.encode().to_vec())
}

fn ring_of(ticket_key: &[u8]) -> Result<Arc<TicketKeyRing>> {
    let key = TicketKey::decode(ticket_key).ok_or("the ticket key is unreadable")?;
    let ring = TicketKeyRing::new(&tessera_aws_lc::provider());
    ring.install(vec![key], unix_time()?)?;
    Ok(Arc::new(ring))
}

pub(super) fn unix_time() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}
