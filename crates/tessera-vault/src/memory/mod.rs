//! The embedded vault: bounded memory, wiped.

mod clients;
#[cfg(unix)]
mod home;
mod list;
#[cfg(unix)]
mod lives;
mod living;
mod shard;
#[cfg(unix)]
mod snapshot;

#[cfg(unix)]
pub use lives::Restored;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{
    Absent, FlightHandle, Incarnation, OneTimeSecret, PutRefused, PutSecret, TakeSecret, Taken,
    Vault,
};

use crate::memory::clients::ClientCounts;
#[cfg(unix)]
use crate::memory::home::Home;
use crate::memory::shard::{EncodedSecret, Fate, Incoming, Shard};
use crate::millis::seconds;
use crate::sharded::Sharded;

/// Holds one-time secrets in the memory of this process, and gives each out once.
///
/// A full vault evicts the oldest secret for a new one: a secret that is gone costs its client a
/// round trip, nothing else. A quarter of the room is for clients whose name is known, the rest for all
/// others together: neither side pushes the other below its share. It fills in shards, so eviction may
/// begin shortly before the capacity is reached, and "oldest" is within a shard.
///
/// Of secrets that were taken or burned it remembers handles, in bounded memory of their own; what it has
/// forgotten is [`Absent::Unknown`].
///
/// Expired secrets are never given out. They are destroyed as traffic comes by; an owner whose server
/// may have none for long calls [`purge`](Self::purge) from a timer.
///
/// A classical secret (X25519) takes less than 200 bytes with everything around it.
///
/// A vault of [`new`](Self::new) ends with its process. One that was [`open`](Self::open)ed in a
/// directory may hand its secrets to the next process, and says of tickets from before a crash that
/// their keys are gone.
pub struct MemoryVault {
    shards: Sharded<Shard>,
    clients: Arc<ClientCounts>,
    /// The latest reading of a clock, in seconds since the Unix epoch, for takes that know no time. It
    /// follows the clock back too; 0, before the first, expires nothing.
    clock: AtomicU32,
    closed: AtomicBool,
    /// The last field: the lock ends after the secrets.
    #[cfg(unix)]
    home: Option<Home>,
}

/// How much a [`MemoryVault`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many secrets.
    pub secrets: usize,
    /// How many secrets of one client whose name is known. Further ones are refused: the client gets
    /// ordinary tickets until it has used some, or they have expired.
    pub per_client: usize,
    /// Of how many secrets that are gone it remembers what became of them.
    pub tombstones: usize,
}

impl Limits {
    /// A tenth for each client, and as many tombstones as secrets.
    pub fn new(secrets: usize) -> Self {
        Self { secrets, per_client: secrets.div_ceil(10).max(MIN_PER_CLIENT), tombstones: secrets }
    }
}

/// Less would refuse a client that opens a few connections at once to a small vault.
const MIN_PER_CLIENT: usize = 64;

impl MemoryVault {
    /// A vault for at most `capacity` secrets, with the other [`Limits`] that go with it. It uses memory
    /// as it fills.
    pub fn new(capacity: usize) -> Self {
        Self::with_limits(Limits::new(capacity))
    }

    /// A vault with these limits.
    pub fn with_limits(limits: Limits) -> Self {
        let Limits { secrets, per_client, tombstones } = limits;
        let share = |of_capacity: usize| match secrets {
            0 => 0,
            _ => (tombstones as u128 * of_capacity as u128 / secrets as u128) as usize,
        };
        let clients = Arc::new(ClientCounts::new(secrets, per_client));
        let shard = |capacity| Shard::new(capacity, share(capacity), clients.clone());
        let shards = Sharded::new(secrets, shard);
        Self {
            shards,
            clients,
            clock: AtomicU32::new(0),
            closed: AtomicBool::new(false),
            #[cfg(unix)]
            home: None,
        }
    }

    /// Destroys every secret that has expired at `now` (since the Unix epoch), and returns how many they
    /// were. Looks at all secrets, and locks one shard after the other.
    pub fn purge(&self, now: Duration) -> usize {
        let now = self.note(Some(now));
        self.shards.sum(|shard| shard.purge(now, self.shards.hashing()))
    }

    /// The answer for a secret that is not here, and was not remembered.
    #[cfg(unix)]
    fn unknown(&self, question: &TakeSecret) -> Absent {
        match (&self.home, question.incarnation) {
            (Some(home), Some(of_secret)) if of_secret.is_before(&home.incarnation) => {
                Absent::Lost { ended_before: home.owned_for() }
            }
            _ => Absent::Unknown,
        }
    }

    #[cfg(not(unix))]
    fn unknown(&self, _: &TakeSecret) -> Absent {
        Absent::Unknown
    }

    fn note(&self, unix: Option<Duration>) -> u32 {
        match unix {
            Some(unix) => {
                let now = seconds(unix);
                self.clock.store(now, Ordering::Relaxed);
                now
            }
            None => self.clock.load(Ordering::Relaxed),
        }
    }
}

impl Vault for MemoryVault {
    /// Refuses a handle that is or was here, so that no secret is ever given out twice.
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        // Copied, because making a vector smaller leaves the old memory behind; the vector is wiped.
        let stored = EncodedSecret::new(Box::from(put.secret.encode().as_slice()));
        let account = self.clients.account(put.client);
        let now = self.note(Some(put.unix));
        let (mut shard, hash) = self.shards.lock(&put.handle);
        let expires_at = seconds(put.expires_at);
        let new = Incoming { handle: &put.handle, hash, stored, expires_at, account };
        shard.put(new, now, self.shards.hashing()).then_some(()).ok_or(PutRefused)
    }

    fn take(&self, question: &TakeSecret) -> Reply<Taken> {
        let TakeSecret { handle, purpose, unix, .. } = question;
        let now = self.note(*unix);
        let hashing = self.shards.hashing();
        let taken = {
            let (mut shard, hash) = self.shards.lock(handle);
            let taken = shard.take((handle, hash), *purpose, now, hashing);
            shard.sweep(now, hashing);
            taken
        };
        Reply::Now(match taken {
            Ok(stored) => {
                OneTimeSecret::decode(&stored).map_or(Taken::Absent(Absent::Unknown), Taken::Taken)
            }
            Err(Fate::Used) => Taken::Absent(Absent::Used),
            Err(Fate::Burned) => Taken::Absent(Absent::Burned),
            Err(Fate::Unknown) => Taken::Absent(self.unknown(question)),
            Err(Fate::Moved) => Taken::Unavailable,
        })
    }

    fn burn(&self, handle: &FlightHandle) {
        let (mut shard, hash) = self.shards.lock(handle);
        shard.burn((handle, hash), self.shards.hashing());
    }

    #[cfg(unix)]
    fn incarnation(&self) -> Option<Incarnation> {
        self.home.as_ref().map(|home| home.incarnation)
    }

    /// Counts secrets that have expired and were not yet destroyed.
    fn len(&self) -> usize {
        self.shards.sum(|shard| shard.len())
    }
}
