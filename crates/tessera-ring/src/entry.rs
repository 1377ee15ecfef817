//! The keys of the ring in the store.

use std::time::Duration;

use tessera::crypto::{Provider, wipe_stack_below};
use tessera_vault::{TicketKey, WrappingKeys};
use zeroize::Zeroizing;

/// The version that this code writes, and the newest that it reads.
const VERSION: u8 = 1;

/// A key in the store. Version, then wrapped: when it was generated, the length of the key's encoding, the key, its
/// epoch, the floor. Later versions may append; the rest is ignored. The first entries had neither epoch nor floor: both
/// count as 0.
///
/// It opens only under the name that it was written under: an attacker who can write to the store can't turn a key that
/// is being distributed into an active one, nor move a key into another ring.
pub(crate) struct RingEntry {
    /// Since the Unix epoch.
    pub(crate) generated_at: Duration,
    pub(crate) key: Box<TicketKey>,
    /// Greater than that of every key generated before.
    pub(crate) epoch: u64,
    /// Keys of smaller epochs are revoked.
    pub(crate) floor: u64,
}

impl RingEntry {
    pub(crate) fn encode(
        &self,
        name: &[u8],
        wrapping: &WrappingKeys,
        now: Duration,
    ) -> Option<Vec<u8>> {
        let key = self.key.encode();
        // Never grows: a reallocation would leave the secret behind.
        let mut plain = Zeroizing::new(Vec::with_capacity(26 + key.len()));
        plain.extend_from_slice(&(self.generated_at.as_millis() as u64).to_be_bytes());
        plain.extend_from_slice(&u16::try_from(key.len()).ok()?.to_be_bytes());
        plain.extend_from_slice(&key);
        plain.extend_from_slice(&self.epoch.to_be_bytes());
        plain.extend_from_slice(&self.floor.to_be_bytes());
        let wrapped = wrapping.wrap(&context(name), &plain, now)?;
        Some([&[VERSION], &wrapped[..]].concat())
    }

    /// Decodes an entry; `None` if this member can't read it.
    pub(crate) fn decode(
        name: &[u8],
        bytes: &[u8],
        wrapping: &WrappingKeys,
        now: Duration,
    ) -> Option<Self> {
        let (&version, wrapped) = bytes.split_first()?;
        if version != VERSION {
            return None;
        }
        let plain = wrapping.unwrap(&context(name), wrapped, now)?;
        let (generated_at, rest) = plain.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
        let (numbers, _) = rest.as_chunks();
        let number = |at: usize| numbers.get(at).map_or(0, |number| u64::from_be_bytes(*number));
        Some(Self {
            generated_at: Duration::from_millis(u64::from_be_bytes(*generated_at)),
            key: Box::new(TicketKey::decode(key)?),
            epoch: number(0),
            floor: number(1),
        })
    }
}

impl Clone for RingEntry {
    fn clone(&self) -> Self {
        let Self { generated_at, epoch, floor, .. } = *self;
        Self { generated_at, epoch, floor, key: copy(&self.key) }
    }
}

/// Copies a key into an allocation of its own, which is wiped when it is dropped.
pub(crate) fn copy(key: &TicketKey) -> Box<TicketKey> {
    let TicketKey { id, known_from, issues_from, issues_until, opens_until, .. } = *key;
    // The secret is copied where it stays: a move would leave it behind.
    let secret = [0; 32].into();
    let mut copy =
        Box::new(TicketKey { id, secret, known_from, issues_from, issues_until, opens_until });
    copy.secret.copy_from_slice(&*key.secret);
    copy
}

/// Runs a step that handles keys, and wipes the copies that it leaves on the stack.
pub(crate) fn wiped<T>(provider: &Provider, step: impl FnOnce() -> T) -> T {
    let done = call(step);
    // Deeper than derivations need: for this crate's own frames.
    wipe_stack_below(provider.stack_depth.agreement);
    done
}

#[inline(never)]
fn call<T>(step: impl FnOnce() -> T) -> T {
    step()
}

fn context(name: &[u8]) -> Vec<u8> {
    [&[VERSION], name].concat()
}

#[cfg(test)]
mod tests {
    use tessera_vault::{EpochKey, WrappingPurpose};

    use super::*;

    #[test]
    fn ring_entries_are_read_back_as_they_were_written() {
        let provider = tessera_aws_lc::provider();
        let now = Duration::from_secs(1_800_000_000);
        let wrapping = WrappingKeys::new(&provider, WrappingPurpose::TicketKeys);
        wrapping.add(EpochKey::forever([1; 16], [7; 32].into()), now).expect("a good key");
        let key = TicketKey::generate(&provider, now, now, now).expect("random bytes");
        let id = key.id;
        let entry = RingEntry { generated_at: now, key: Box::new(key), epoch: 7, floor: 5 };
        let encoded = entry.encode(b"/ring/next", &wrapping, now).expect("a key wraps");
        let decode = |name: &[u8], bytes: &[u8]| RingEntry::decode(name, bytes, &wrapping, now);
        let decoded = decode(b"/ring/next", &encoded).expect("as encoded");
        assert_eq!((decoded.generated_at, decoded.key.id), (now, id));
        assert_eq!((decoded.epoch, decoded.floor), (7, 5));
        assert!(!encoded.windows(16).any(|window| *window == entry.key.secret[..16]));
        for elsewhere in [&b"/ring/k/0123456789abcdef"[..], b"/other/next", b""] {
            assert!(decode(elsewhere, &encoded).is_none());
        }

        let mut plain = vec![0; 8];
        let key = entry.key.encode();
        plain.extend_from_slice(&(key.len() as u16).to_be_bytes());
        plain.extend_from_slice(&key);
        let read = |more: &[u8]| {
            let wrapped = wrapping.wrap(b"\x01n", &[&plain, more].concat(), now);
            let entry = [&[1], &wrapped.expect("a key wraps")[..]].concat();
            decode(b"n", &entry).map(|entry| (entry.key.id, entry.epoch, entry.floor))
        };
        assert_eq!(read(b""), Some((id, 0, 0)), "of the first version");
        let later = [&9_u64.to_be_bytes()[..], &8_u64.to_be_bytes(), b"a later field"].concat();
        assert_eq!(read(&later), Some((id, 9, 8)));
        assert!(decode(b"n", &[&[2], &encoded[1..]].concat()).is_none(), "a newer version");
        for cut in 0..encoded.len() {
            assert!(decode(b"/ring/next", &encoded[..cut]).is_none());
        }
        let none = WrappingKeys::new(&provider, WrappingPurpose::TicketKeys);
        assert!(RingEntry::decode(b"/ring/next", &encoded, &none, now).is_none());
    }
}
