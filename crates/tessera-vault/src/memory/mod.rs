//! The embedded vault: bounded memory, wiped.

mod accounts;
#[cfg(unix)]
pub(crate) mod chunks;
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
pub use lives::RestoreOutcome;
#[cfg(unix)]
pub use witness::{FileWitness, Mark, Witness, WitnessOutcome};

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, Incarnation, OneTimeSecret, PutRefused, PutSecret, TakeAnswer,
    TakeSecret, Vault,
};

use crate::clock::Clock;
use crate::memory::accounts::{ClientHash, RESERVED};
#[cfg(unix)]
use crate::memory::home::Home;
use crate::memory::store::{EncodedSecret, Fate, Incoming, Store};
use crate::millis::seconds;

/// Holds one-time secrets in the memory of this process, and returns each once.
///
/// A full vault evicts secrets for new ones: losing a secret costs its client a round trip, nothing else. The
/// client that holds most loses its oldest first, and no named client loses one to a client that holds more.
/// Clients without a name count as one; a quarter of the room is reserved for named clients, and the rest is
/// not taken from unnamed ones.
///
/// It remembers the handles of taken and burned secrets, in separate bounded memory; a forgotten handle is
/// [`Absence::Unknown`].
///
/// Expired secrets are never returned. Traffic triggers their destruction; if a server may have none for
/// long, its owner should call [`purge`](Self::purge) from a timer. A clock that jumps ahead is doubted for a
/// minute, in which it only destroys secrets that are asked for.
///
/// A classical secret (X25519) takes less than 200 bytes, overhead included, a post-quantum one 2.6 kB in
/// expanded form and 240 bytes as a seed, and each named client about 40 more. Post-quantum keys are kept
/// expanded as far as [`Limits::expanded_bytes`] allows.
///
/// A vault made with [`new`](Self::new) ends with its process. One that was [`open`](Self::open)ed in a
/// directory can pass its secrets to the next process, and reports keys of tickets from before a crash as
/// lost.
pub struct MemoryVault {
    /// One lock for everything, because finding the client that holds most concerns all secrets. Secrets are
    /// encoded before the lock is taken, and wiped by their receiver after it is released.
    content: Mutex<Content>,
    /// For handles and names. Handles should be random, but clients know them: the key prevents attacks on
    /// one bucket of a table.
    hashing: RandomState,
    closed: AtomicBool,
    /// The last field, so that the lock outlives the secrets.
    #[cfg(unix)]
    home: Option<Home>,
}

/// A secret that was removed for another vault.
pub(crate) struct RemovedSecret {
    pub(crate) handle: FlightHandle,
    pub(crate) stored: EncodedSecret,
    /// Since the Unix epoch.
    pub(crate) expires_at: Duration,
}

struct Content {
    store: Store,
    clock: Clock,
}

/// The capacity of a [`MemoryVault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of secrets.
    pub secrets: usize,
    /// Maximum number of secrets of one named client. Further ones are refused: the client gets ordinary
    /// tickets until it has used some, or they have expired.
    pub per_client: usize,
    /// For how many secrets that are gone it remembers their outcome.
    pub tombstones: usize,
    /// Maximum total bytes of secrets longer than 256 bytes each: of post-quantum keys in expanded form, 2.5
    /// kB each. Beyond it the vault requests seeds ([`Vault::key_form`]), a tenth as long, which more than
    /// double a handshake's processor time. 0: seeds only.
    ///
    /// Servers with many threads may exceed it by what they put at the same moment, but never by more than an
    /// eighth: further ones are refused. Default: 128 MiB, about 50,000 keys.
    pub expanded_bytes: usize,
}

impl Limits {
    /// Returns limits with a tenth for each client (or 64, if that is more), but at most the quarter reserved
    /// for named clients; and as many tombstones as secrets.
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
    /// Makes a vault for at most `capacity` secrets, with the matching other [`Limits`]. Memory use grows as
    /// it fills.
    pub fn new(capacity: usize) -> Self {
        Self::with_limits(Limits::new(capacity))
    }

    /// Makes a vault with these limits.
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

    /// Destroys every secret expired at `now` (since the Unix epoch), and returns their number. A `now`
    /// further ahead than the time that can have passed is doubted for a minute. Scans all secrets, some
    /// thousands at a time, and releases the lock in between.
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

    /// Notes durably that secrets leave this life for another vault: after it, they can't be reported as lost.
    pub(crate) fn note_departures(&self) -> io::Result<()> {
        #[cfg(unix)]
        if let Some(home) = &self.home {
            return home.note_departures();
        }
        Ok(())
    }

    /// Removes the secrets of a named client, the oldest first; nothing here remembers them.
    pub(crate) fn remove_of(&self, client: &[u8]) -> Vec<RemovedSecret> {
        let client = ClientHash(self.hashing.hash_one(client));
        let removed = self.content().store.remove_of(client, &self.hashing);
        let secret = |(handle, stored, expires_at): (FlightHandle, EncodedSecret, u32)| {
            let expires_at = Duration::from_secs(expires_at.into());
            RemovedSecret { handle, stored, expires_at }
        };
        removed.into_iter().map(secret).collect()
    }

    /// Returns the answer for a secret that is neither here nor remembered.
    #[cfg(unix)]
    fn unknown(&self, question: &TakeSecret) -> Absence {
        match (&self.home, question.incarnation) {
            (Some(home), Some(of_secret))
                if of_secret.is_before(&home.incarnation) && !home.may_have_left(&of_secret) =>
            {
                Absence::Lost { ended_before: home.owned_for() }
            }
            _ => Absence::Unknown,
        }
    }

    #[cfg(not(unix))]
    fn unknown(&self, _: &TakeSecret) -> Absence {
        Absence::Unknown
    }

    /// A poisoned lock is fine: nothing under it panics half way.
    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vault for MemoryVault {
    /// Refuses a handle that is or was here, so that no secret is ever returned twice.
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

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
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
            Ok(stored) => OneTimeSecret::decode(&stored)
                .map_or(TakeAnswer::Absent(Absence::Unknown), TakeAnswer::Taken),
            Err(Fate::Used) => TakeAnswer::Absent(Absence::Used),
            Err(Fate::Burned) => TakeAnswer::Absent(Absence::Burned),
            Err(Fate::Unknown) => TakeAnswer::Absent(self.unknown(question)),
            Err(Fate::Moved) => TakeAnswer::Unavailable,
        })
    }

    /// Prefers expanded keys while there is room.
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

    /// Includes expired secrets that are not destroyed yet.
    fn len(&self) -> usize {
        self.content().store.len()
    }
}
