//! The entries of the ring in etcd.

use std::time::Duration;

use tessera_vault::{TicketKey, WrappingKeys};
use zeroize::Zeroizing;

/// The version that this code writes, and the newest that it reads.
const VERSION: u8 = 1;

/// A key in etcd. Version, then wrapped: when it was made, the length of the key's encoding, the key. Later versions
/// may append; the rest is ignored.
///
/// It opens only under the name that it was written under: an attacker who can write to etcd can't turn a key that is
/// being distributed into an active one, nor move a key into another ring.
pub(super) struct Entry {
    /// Since the Unix epoch.
    pub(super) made_at: Duration,
    pub(super) key: TicketKey,
}

impl Entry {
    pub(super) fn encode(
        &self,
        name: &[u8],
        wrapping: &WrappingKeys,
        now: Duration,
    ) -> Option<Vec<u8>> {
        let key = self.key.encode();
        let mut plain = Zeroizing::new(Vec::with_capacity(16 + key.len()));
        plain.extend_from_slice(&(self.made_at.as_millis() as u64).to_be_bytes());
        plain.extend_from_slice(&u16::try_from(key.len()).ok()?.to_be_bytes());
        plain.extend_from_slice(&key);
        let wrapped = wrapping.wrap(&context(name), &plain, now)?;
        Some([&[VERSION], &wrapped[..]].concat())
    }

    /// Decodes an entry; `None` if this server can't read it.
    pub(super) fn decode(
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
        let (made_at, rest) = plain.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        let (key, _) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
        Some(Self {
            made_at: Duration::from_millis(u64::from_be_bytes(*made_at)),
            key: TicketKey::decode(key)?,
        })
    }
}

fn context(name: &[u8]) -> Vec<u8> {
    [&[VERSION], name].concat()
}

/// Encodes a server's acknowledgement: the newest version that it reads, and the keys that it has. Bytes after whole
/// ids come from later versions, and are ignored.
pub(super) fn acknowledgement(keys: &[[u8; 16]]) -> Vec<u8> {
    let count = u16::try_from(keys.len()).unwrap_or(u16::MAX);
    let mut out = vec![VERSION];
    out.extend_from_slice(&count.to_be_bytes());
    for key in keys.iter().take(count.into()) {
        out.extend_from_slice(key);
    }
    out
}

/// Whether an acknowledgement lists a key.
pub(super) fn acknowledges(word: &[u8], key: &[u8; 16]) -> bool {
    let Some((_version, rest)) = word.split_first() else { return false };
    let Some((count, keys)) = rest.split_first_chunk() else { return false };
    let (keys, _) = keys.as_chunks();
    keys.iter().take(u16::from_be_bytes(*count).into()).any(|acknowledged| acknowledged == key)
}

#[cfg(test)]
mod tests {
    use tessera_vault::{EpochKey, WrappingPurpose};

    use super::*;

    #[test]
    fn an_acknowledgement_names_the_keys_that_it_counts_for() {
        let word = acknowledgement(&[[1; 16], [2; 16]]);
        assert!(acknowledges(&word, &[1; 16]) && acknowledges(&word, &[2; 16]));
        assert!(!acknowledges(&word, &[3; 16]));
        // A later version may append.
        let later = [&word[..], &[3; 16]].concat();
        assert!(acknowledges(&later, &[2; 16]) && !acknowledges(&later, &[3; 16]));
        for cut in 0..word.len() {
            assert!(!acknowledges(&word[..cut], &[2; 16]));
        }
    }

    #[test]
    fn ring_entries_are_read_back_as_they_were_written() {
        let provider = tessera_aws_lc::provider();
        let now = Duration::from_secs(1_800_000_000);
        let wrapping = WrappingKeys::new(&provider, WrappingPurpose::TicketKeys);
        wrapping.add(EpochKey::forever([1; 16], [7; 32].into()), now).expect("a good key");
        let key = TicketKey::generate(&provider, now, now, now).expect("random bytes");
        let id = key.id;
        let entry = Entry { made_at: now, key };
        let encoded = entry.encode(b"/ring/next", &wrapping, now).expect("a key wraps");
        let decode = |name: &[u8], bytes: &[u8]| Entry::decode(name, bytes, &wrapping, now);
        let decoded = decode(b"/ring/next", &encoded).expect("as encoded");
        assert_eq!((decoded.made_at, decoded.key.id), (now, id));
        assert!(!encoded.windows(16).any(|window| *window == entry.key.secret[..16]));
        for elsewhere in [&b"/ring/k/0123456789abcdef"[..], b"/other/next", b""] {
            assert!(decode(elsewhere, &encoded).is_none());
        }

        let mut plain = vec![0; 8];
        let key = entry.key.encode();
        plain.extend_from_slice(&(key.len() as u16).to_be_bytes());
        plain.extend_from_slice(&key);
        plain.extend_from_slice(b"a field of a later time");
        let wrapped = wrapping.wrap(b"\x01n", &plain, now).expect("a key wraps");
        let later = decode(b"n", &[&[1], &wrapped[..]].concat());
        assert_eq!(later.map(|entry| entry.key.id), Some(id));
        assert!(decode(b"n", &[&[2], &wrapped[..]].concat()).is_none(), "a newer version");
        for cut in 0..encoded.len() {
            assert!(decode(b"/ring/next", &encoded[..cut]).is_none());
        }
        let none = WrappingKeys::new(&provider, WrappingPurpose::TicketKeys);
        assert!(Entry::decode(b"/ring/next", &encoded, &none, now).is_none());
    }
}
