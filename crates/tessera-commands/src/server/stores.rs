//! What the server keeps between connections: ticket keys, one-time keys, tickets that were used.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera_kit::ProgramError;
use tessera_vault::{MemoryRegister, MemoryVault, TicketKey, TicketKeyRing};
use tokio::time::{interval, sleep};

/// The stores of one server.
#[derive(Clone)]
pub(super) struct Stores {
    pub(super) ring: Arc<TicketKeyRing>,
    pub(super) vault: Arc<MemoryVault>,
    pub(super) register: Arc<MemoryRegister>,
    ticket_lifetime: Duration,
}

impl Stores {
    pub(super) fn new(ticket_lifetime: Duration) -> Result<Self, ProgramError> {
        let stores = Self {
            ring: Arc::new(TicketKeyRing::new(&tessera_aws_lc::provider())),
            vault: Arc::new(MemoryVault::new(CAPACITY)),
            register: Arc::new(MemoryRegister::new(CAPACITY, unix())),
            ticket_lifetime,
        };
        stores.rotate()?;
        Ok(stores)
    }

    /// Adds a fresh ticket key, which seals from now on.
    fn rotate(&self) -> Result<(), ProgramError> {
        let (provider, now) = (tessera_aws_lc::provider(), unix());
        let key = TicketKey::generate(&provider, now, 2 * ROTATION, self.ticket_lifetime);
        let key = key.map_err(|error| ProgramError::failed("a ticket key", error))?;
        self.ring.add(key, now).map_err(|error| ProgramError::failed("a ticket key", error))
    }

    /// Changes keys in time, and forgets what has expired.
    pub(super) async fn keep(self) {
        let mut rotation = interval(ROTATION);
        // The first key is there.
        rotation.tick().await;
        loop {
            tokio::select! {
                // Without a new key the old one goes on for as long again.
                _ = rotation.tick() => drop(self.rotate()),
                () = sleep(PURGE) => drop(self.vault.purge(unix())),
            }
        }
    }
}

/// Since the Unix epoch.
fn unix() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// How many secrets, or used tickets, there may be; each takes some hundred bytes when it is there.
const CAPACITY: usize = 1_000_000;

/// How long one ticket key seals.
const ROTATION: Duration = Duration::from_secs(3600);

/// One-time keys that nobody used are destroyed this often.
const PURGE: Duration = Duration::from_secs(60);
