//! The embedded vault: bounded memory, wiped.

mod accounts;
#[cfg(unix)]
pub(crate) mod home;
mod list;
#[cfg(unix)]
mod lives;
#[cfg(unix)]
mod seal;
#[cfg(unix)]
pub(crate) mod snapshot;
mod store;
#[cfg(unix)]
mod witness;

#[cfg(unix)]
pub use lives::Restored;
#[cfg(unix)]
pub use witness::{FileWitness, Mark, Witness, Witnessed};

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    Absent, FlightHandle, Incarnation, OneTimeSecret, PutRefused, PutSecret, TakeSecret, Taken,
    Vault,
};

use crate::clock::Clock;
use crate::memory::accounts::{ClientHash, RESERVED};
#[cfg(unix)]
use crate::memory::home::Home;
use crate::memory::store::{Fate, Incoming, Store};
use crate::millis::seconds;

/// Holds one-time secrets in the memory of this process, and gives each out once.
///
/// A full vault evicts secrets for new ones: a secret that is gone costs its client a round trip, nothing
/// else. Who holds most loses its oldest first, and nobody whose name is known loses one to a client that
/// holds more. Clients without a name count as one; a quarter of the room is for those with one, and the
/// rest is not taken from those without.
///
/// Of secrets that were taken or burned it remembers handles, in bounded memory of their own; what it has
/// forgotten is [`Absent::Unknown`].
///
/// Expired secrets are never given out. They are destroyed as traffic comes by; an owner whose server
/// may have none for long calls [`purge`](Self::purge) from a timer. A clock that jumps ahead is doubted for
/// a minute, in which it destroys only what it is asked for.
///
/// A classical secret (X25519) takes less than 200 bytes with everything around it, a post-quantum one 2.6 kB in
/// expanded form and 240 bytes as a seed, and each client that has a name about 40 more. Post-quantum keys
/// are kept expanded as long as [`Limits::expanded_bytes`] lets them be.
///
/// A vault of [`new`](Self::new) ends with its process. One that was [`open`](Self::open)ed in a
/// directory may hand its secrets to the next process, and says of tickets from before a crash that
/// their keys are gone.
pub struct MemoryVault {
    /// One lock for all: who holds most is a question about all secrets. A secret is encoded before it is
    /// taken, and wiped by whom it was given out to after it.
    content: Mutex<Content>,
    /// For handles and names. Handles should be random, but clients know them: with the key nobody can aim at
    /// one bucket of a table.
    hashing: RandomState,
    closed: AtomicBool,
    /// The last field: the lock ends after the secrets.
    #[cfg(unix)]
    home: Option<Home>,
}

struct Content {
    store: Store,
    clock: Clock,
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
    /// How many bytes there may be of secrets that are longer than 256 bytes each: of post-quantum keys in
    /// expanded form, 2.5 kB each. Where they are used up the vault asks for seeds ([`Vault::key_form`]), a
    /// tenth as long, which cost a handshake more than twice the processor time. 0: seeds alone.
    ///
    /// Servers in many threads may go beyond it by what they put at the same moment, but never by more than an
    /// eighth: further ones are refused. Default: 128 MiB, about 50,000 keys.
    pub expanded_bytes: usize,
}

impl Limits {
    /// A tenth for each client (or 64, if that is more), but no more than the quarter that
    /// clients with a name have for themselves; and as many tombstones as secrets.
    pub fn new(secrets: usize) -> Self {
        let tenth = secrets.div_ceil(10).max(MIN_PER_CLIENT);
        Self {
            secrets,
            per_client: tenth.min(secrets.div_ceil(RESERVED)),
            tombstones: secrets,
            expanded_bytes: 128 << 20,
        }
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
        let store = Store::new(limits);
        Self {
            content: Mutex::new(Content { store, clock: Clock::default() }),
            hashing: RandomState::new(),
            closed: AtomicBool::new(false),
            #[cfg(unix)]
            home: None,
        }
    }

    /// Destroys every secret that has expired at `now` (since the Unix epoch), and returns how many they
    /// were. A `now` that is further ahead than time can have passed is doubted for a minute. Looks at all
    /// secrets, some thousands at a time, between which others have their turn.
    pub fn purge(&self, now: Duration) -> usize {
        let (mut next, mut purged) = (Some(0), 0);
        while let Some(slot) = next {
            let Content { store, clock } = &mut *self.content();
            let expired = clock.note(seconds(now), Instant::now);
            let before = store.len();
            next = store.purge(slot, expired, &self.hashing);
            purged += before - store.len();
        }
        purged
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

    /// Nothing that happens under the lock panics half way, so a poisoned one is still good.
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vault for MemoryVault {
    /// Refuses a handle that is or was here, so that no secret is ever given out twice.
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        if put.secret.key.len() > OneTimeSecret::MAX_KEY_LEN {
            return Err(PutRefused);
        }
        let stored = put.secret.encode();
        let client = put.client.map(|client| ClientHash(self.hashing.hash_one(client)));
        let hash = self.hashing.hash_one(put.handle);
        let expires_at = seconds(put.expires_at);
        let new = Incoming { handle: &put.handle, hash, stored, expires_at, client };
        let Content { store, clock } = &mut *self.content();
        let expired = clock.note(seconds(put.unix), Instant::now);
        store.put(new, expired, &self.hashing).then_some(()).ok_or(PutRefused)
    }

    fn take(&self, question: &TakeSecret) -> Reply<Taken> {
        let TakeSecret { handle, purpose, unix, .. } = question;
        let hash = self.hashing.hash_one(handle);
        let taken = {
            let Content { store, clock } = &mut *self.content();
            let now = unix.map_or(clock.latest(), seconds);
            let expired = clock.note(now, Instant::now);
            let taken = store.take((handle, hash), *purpose, now, &self.hashing);
            store.sweep(expired, &self.hashing);
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

    /// Expanded, while there is room for it.
    fn key_form(&self) -> KeyForm {
        match self.content().store.has_room_for_expanded() {
            true => KeyForm::Expanded,
            false => KeyForm::Seed,
        }
    }

    fn burn(&self, handle: &FlightHandle) {
        let hash = self.hashing.hash_one(handle);
        self.content().store.burn((handle, hash), &self.hashing);
    }

    #[cfg(unix)]
    fn incarnation(&self) -> Option<Incarnation> {
        self.home.as_ref().map(|home| home.incarnation)
    }

    /// Counts secrets that have expired and were not yet destroyed.
    fn len(&self) -> usize {
        self.content().store.len()
    }
}
