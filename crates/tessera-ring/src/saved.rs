//! What a member saves of its ring, sealed.

use std::io;
use std::time::Duration;

use tessera_vault::WrappingKeys;
use zeroize::Zeroizing;

use crate::cache::RingCache;
use crate::entry::{RingEntry, wiped};
use crate::known::{KnownKeys, MOST_SEEN};
use crate::shared::{Shared, Turn};

const VERSION: u8 = 1;

/// Returns what binds a cache to its ring: other rings, and other data sealed under the same keys, have another context.
fn context(prefix: &[u8]) -> Vec<u8> {
    [b"tessera ring cache ", prefix].concat()
}

impl Shared {
    /// Saves the ring, if it has changed.
    pub(crate) fn save(&self, turn: &mut Turn, now: Duration) {
        let Some(cache) = &self.cache else { return };
        let known = self.known();
        let ids = known.active.iter().chain(&known.next).map(|entry| entry.key.id);
        let current = (known.highest_epoch, ids.collect::<Vec<_>>());
        if turn.saved.as_ref() == Some(&current) {
            return;
        }
        let sealed = wiped(&self.provider, || known.seal(&self.names.all(), &self.wrapping, now));
        drop(known);
        let saved = sealed.ok_or_else(|| io::Error::other("no wrapping key for ticket keys"));
        match saved.and_then(|sealed| cache.save(&sealed)) {
            Ok(()) => turn.saved = Some(current),
            Err(error) => tracing::warn!(
                "the ticket keys can't be saved, and a start without the store would have none: {error}"
            ),
        }
    }
}

impl KnownKeys {
    /// Restores what [`seal`](Self::seal) returned. A cache that can't be read counts as empty.
    pub(crate) fn restore(
        &mut self,
        cache: &dyn RingCache,
        prefix: &[u8],
        wrapping: &WrappingKeys,
        now: Duration,
    ) {
        let sealed = match cache.load() {
            Ok(None) => return,
            Ok(Some(sealed)) => sealed,
            Err(error) => {
                tracing::warn!("the saved ticket keys can't be read: {error}");
                return;
            }
        };
        match Self::open(&sealed, prefix, wrapping, now) {
            Some(known) => *self = known,
            None => tracing::warn!(
                "the saved ticket keys are damaged, of another ring, or of another wrapping key: this member starts without keys"
            ),
        }
    }

    fn seal(&self, prefix: &[u8], wrapping: &WrappingKeys, now: Duration) -> Option<Vec<u8>> {
        let context = context(prefix);
        let mut entries = Vec::new();
        for entry in self.active.iter().chain(&self.next) {
            // Bound to this place by the name, and sealed again below with the rest.
            entries.push(entry.encode(&context, wrapping, now)?);
        }
        let mut plain = Zeroizing::new(Vec::new());
        plain.extend_from_slice(&self.highest_epoch.to_be_bytes());
        plain.extend_from_slice(&self.floor.to_be_bytes());
        plain.push(u8::from(self.next.is_some()));
        plain.extend_from_slice(&u16::try_from(self.seen.len()).ok()?.to_be_bytes());
        self.seen.iter().for_each(|fingerprint| plain.extend_from_slice(fingerprint));
        for entry in entries {
            plain.extend_from_slice(&u16::try_from(entry.len()).ok()?.to_be_bytes());
            plain.extend_from_slice(&entry);
        }
        let sealed = wrapping.wrap(&context, &plain, now)?;
        Some([&[VERSION], &sealed[..]].concat())
    }

    fn open(sealed: &[u8], prefix: &[u8], wrapping: &WrappingKeys, now: Duration) -> Option<Self> {
        let context = context(prefix);
        let (&version, sealed) = sealed.split_first()?;
        if version != VERSION {
            return None;
        }
        let plain = wrapping.unwrap(&context, sealed, now)?;
        let (highest, rest) = plain.split_first_chunk()?;
        let (floor, rest) = rest.split_first_chunk()?;
        let (&has_next, rest) = rest.split_first()?;
        let (count, rest) = rest.split_first_chunk()?;
        let count = usize::from(u16::from_be_bytes(*count)).min(MOST_SEEN);
        let (seen, mut rest) = rest.split_at_checked(count * 16)?;
        let (seen, _) = seen.as_chunks();
        let mut active = Vec::new();
        while !rest.is_empty() {
            let (len, after) = rest.split_first_chunk()?;
            let (entry, after) = after.split_at_checked(u16::from_be_bytes(*len).into())?;
            active.push(RingEntry::decode(&context, entry, wrapping, now)?);
            rest = after;
        }
        let next = (has_next != 0).then(|| active.pop()).flatten();
        Some(Self {
            active,
            next,
            highest_epoch: u64::from_be_bytes(*highest),
            floor: u64::from_be_bytes(*floor),
            seen: seen.iter().copied().collect(),
        })
    }
}
