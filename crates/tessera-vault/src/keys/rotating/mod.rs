//! A server's ring that rotates itself.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tessera::crypto::Provider;
use tessera::handshake::Reply;
use tessera::resume::{OpenTicket, SessionState, TicketKeys};
use zeroize::Zeroizing;

use super::key::TicketKey;
use super::ring::TicketKeyRing;
use super::rotation::Rotation;
use crate::clock::Clock;
use crate::millis::{millis, seconds};

/// A [`TicketKeyRing`] that makes and destroys its own keys, for one server or one process.
///
/// It needs no timer. At each seal and open it checks the given time: it makes the next key when the
/// current one has sealed for half its time, and destroys expired ones. A key is known ten minutes before
/// it seals, or for an eighth of its sealing time if that is shorter; the first one seals at once. If a
/// server may have no traffic for long, its owner should call [`keep`](Self::keep) now and then, so that
/// expired keys are destroyed in time.
///
/// Without randomness there is no new key, and without a key no ticket: no handshake fails. It retries at
/// each ticket.
///
/// A clock that jumps ahead makes and destroys nothing for a minute, during which there may be no tickets. If
/// it stays there, the earlier keys have expired. A clock that jumps back by more than a quarter of an hour
/// gets a new key; keys with later times stay, for use when the clock catches up. However the clock behaves,
/// there are at most 32 keys, and none lives longer in one process than [`Rotation::lifetime`] and a quarter
/// of an hour.
///
/// ```
/// use std::sync::Arc;
///
/// use tessera_vault::RotatingRing;
///
/// let ring = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
/// // config.tickets = Some(ring);
/// # drop(ring);
/// ```
pub struct RotatingRing {
    ring: TicketKeyRing,
    provider: Provider,
    rotation: Rotation,
    calm: QuietPeriod,
    held: Mutex<RingKeys>,
}

/// Writes encoded keys to where they survive the process.
pub(crate) type WriteKeys = Box<dyn Fn(&[&[u8]]) -> io::Result<()> + Send + Sync>;

/// State of the keys in the ring.
struct RingKeys {
    keys: Vec<HeldKey>,
    clock: Clock,
    write: Option<WriteKeys>,
    /// The error of the last write, while the change is unwritten.
    unwritten: Option<io::Error>,
}

struct HeldKey {
    id: [u8; 16],
    issues_from: Duration,
    issues_until: Duration,
    opens_until: Duration,
    /// Since when this process has had it.
    since: Instant,
    /// The encoding to be written, if the keys are.
    encoded: Option<Zeroizing<Vec<u8>>>,
}

/// The times, in milliseconds since the Unix epoch, between which nothing is due: most seals and opens check
/// only this.
#[derive(Default)]
struct QuietPeriod {
    from: AtomicU64,
    until: AtomicU64,
}

impl RotatingRing {
    /// Makes a ring whose keys seal for 12 hours and open for another 24. It makes the first key for the
    /// first ticket.
    pub fn new(provider: &Provider) -> Self {
        Self::with_rotation(provider, Rotation::default())
    }

    /// Makes a ring with this rotation, for tickets that live longer than a day, or for keys that must be
    /// destroyed sooner.
    pub fn with_rotation(provider: &Provider, rotation: Rotation) -> Self {
        Self {
            ring: TicketKeyRing::new(provider),
            provider: *provider,
            rotation,
            calm: QuietPeriod::default(),
            held: Mutex::new(RingKeys {
                keys: Vec::new(),
                clock: Clock::default(),
                write: None,
                unwritten: None,
            }),
        }
    }

    /// Makes a ring that starts with these keys, and writes all its keys whenever they change.
    #[cfg(unix)]
    pub(crate) fn written(
        provider: &Provider,
        rotation: Rotation,
        keys: Vec<TicketKey>,
        write: WriteKeys,
        now: Duration,
    ) -> Self {
        let ring = Self::with_rotation(provider, rotation);
        let mut held = ring.held();
        held.write = Some(write);
        for key in keys {
            // A key that the ring refuses is useless.
            let _ = ring.insert(&mut held, key, now, Instant::now());
        }
        drop(held);
        ring
    }

    /// Does what is due at `now` (since the Unix epoch), as each seal and open does.
    pub fn keep(&self, now: Duration) {
        self.look(&mut self.held(), now, Instant::now());
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Writes the current keys, for the last time.
    #[cfg(unix)]
    pub(crate) fn write_last(&self) -> io::Result<()> {
        let mut held = self.held();
        let result = held.write();
        held.write = None;
        result
    }

    /// Writes the current keys.
    #[cfg(unix)]
    pub(crate) fn write_now(&self) -> io::Result<()> {
        self.held().write()
    }

    /// Returns the error of a failed write, which is retried at the next check.
    #[cfg(unix)]
    pub(crate) fn unwritten(&self) -> Option<io::Error> {
        let held = self.held();
        let error = held.unwritten.as_ref()?;
        Some(match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        })
    }

    fn look_if_due(&self, now: Duration) {
        if self.calm.has(now) {
            return;
        }
        if !self.ring.seals(now) {
            return self.keep(now);
        }
        // If another thread is checking, perhaps waiting for a disk, there is still a key to use.
        if let Ok(mut held) = self.held.try_lock() {
            self.look(&mut held, now, Instant::now());
        }
    }

    fn look(&self, held: &mut RingKeys, now: Duration, instant: Instant) {
        if held.clock.note(seconds(now), || instant) != seconds(now) {
            return;
        }
        let before = held.keys.len();
        held.keys.retain(|key| {
            let age = instant.saturating_duration_since(key.since);
            let lives = now < key.opens_until && age < self.longest_life();
            if !lives {
                self.ring.retire(&key.id);
            }
            lives
        });
        let mut changed = held.keys.len() != before;
        let mut made = true;
        if self.is_due(held, now) {
            made = self.make(held, now, instant);
            changed |= made;
        }
        if changed || held.unwritten.is_some() {
            held.unwritten = held.write().err();
        }
        if made {
            self.calm.set(now, LOOK_EVERY.min(self.rotation.issue_for / 8));
        }
    }

    fn is_due(&self, held: &RingKeys, now: Duration) -> bool {
        let times = held.keys.iter().map(|key| (key.issues_from, key.issues_until));
        !self.ring.seals(now) || self.rotation.is_due(times, now)
    }

    /// Makes the next key; `false` without randomness.
    fn make(&self, held: &mut RingKeys, now: Duration, instant: Instant) -> bool {
        let Rotation { issue_for, open_for, skew } = self.rotation;
        let Ok(mut key) = TicketKey::generate(&self.provider, now, issue_for, open_for) else {
            return false;
        };
        key.known_from = now.saturating_sub(skew);
        key.issues_from = if self.ring.seals(now) {
            // Written, and known to all users of the ring, before it is needed.
            now.saturating_add(KNOWN_BEFORE.min(issue_for / 8))
        } else {
            key.known_from
        };
        if self.insert(held, key, now, instant).is_none() {
            return false;
        }
        if held.keys.len() > MOST_KEYS
            && let Some((at, _)) =
                held.keys[..MOST_KEYS].iter().enumerate().min_by_key(|(_, key)| key.opens_until)
        {
            self.ring.retire(&held.keys.remove(at).id);
        }
        true
    }

    fn insert(
        &self,
        held: &mut RingKeys,
        key: TicketKey,
        now: Duration,
        since: Instant,
    ) -> Option<()> {
        let TicketKey { id, issues_from, issues_until, opens_until, .. } = key;
        let encoded = held.write.is_some().then(|| key.encode());
        self.ring.add(key, now).ok()?;
        held.keys.push(HeldKey { id, issues_from, issues_until, opens_until, since, encoded });
        Some(())
    }

    fn longest_life(&self) -> Duration {
        self.rotation.lifetime().saturating_add(self.rotation.skew)
    }

    /// A poisoned lock is fine: nothing under it panics half way.
    fn held(&self) -> MutexGuard<'_, RingKeys> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TicketKeys for RotatingRing {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        self.look_if_due(unix);
        self.ring.seal(session, unix)
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        if let Some(unix) = question.unix {
            self.look_if_due(unix);
        }
        self.ring.open(question)
    }

    fn seal_for(&self, purpose: &[u8], contents: &[u8], unix: Duration) -> Option<Vec<u8>> {
        self.look_if_due(unix);
        self.ring.seal_for(purpose, contents, unix)
    }

    fn open_for(&self, purpose: &[u8], sealed: &[u8], unix: Duration) -> Option<Vec<u8>> {
        self.look_if_due(unix);
        self.ring.open_for(purpose, sealed, unix)
    }
}

impl RingKeys {
    fn write(&self) -> io::Result<()> {
        let Some(write) = &self.write else { return Ok(()) };
        let keys: Vec<_> =
            self.keys.iter().filter_map(|key| key.encoded.as_ref()).map(|it| &***it).collect();
        write(&keys)
    }
}

impl QuietPeriod {
    fn has(&self, now: Duration) -> bool {
        let now = millis(now);
        self.from.load(Ordering::Relaxed) <= now && now < self.until.load(Ordering::Relaxed)
    }

    /// Starts a little earlier, because threads read the clock in one order and arrive here in another.
    fn set(&self, now: Duration, len: Duration) {
        self.from.store(millis(now.saturating_sub(Duration::from_secs(1))), Ordering::Relaxed);
        self.until.store(millis(now.saturating_add(len)), Ordering::Relaxed);
    }
}

/// Minimum interval between checks.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How long a key exists before it seals.
const KNOWN_BEFORE: Duration = Duration::from_secs(600);

/// More than any clock needs that mostly runs forward.
const MOST_KEYS: usize = 32;

#[cfg(test)]
mod tests;
