//! The bytes of a store's file.
//!
//! A name, a version, the length of the body, the body, and a CRC-32 of all that. The body: the revision, the number of
//! the last lease; how many leases, and of each its number and its lifetime in seconds; how many entries, and of each
//! its key and its value with their lengths, its revision, and the number of its lease or 0. Integers are big-endian.
//!
//! The checksum finds accidents. Other users can't write to the file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::FileStoreProblem;
use super::state::{Entry, MAX_BYTES, MAX_ENTRIES, MAX_KEY, MAX_LEASES, MAX_VALUE, State};

/// The last byte is the version.
const MAGIC: &[u8; 8] = b"tsstore\x01";

/// What an entry has besides key and value.
const ENTRY: usize = 4 + 4 + 8 + 8;

/// The longest file, in bytes.
pub(super) const MAX_FILE: usize =
    MAX_BYTES + MAX_ENTRIES * ENTRY + MAX_LEASES * 12 + MAGIC.len() + 8 + 24 + 4;

pub(super) fn encode(state: &State) -> Vec<u8> {
    let body = 24 + state.leases.len() * 12 + state.entries.len() * ENTRY + state.bytes;
    let mut out = Vec::with_capacity(MAGIC.len() + 8 + body + 4);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(body as u64).to_be_bytes());
    out.extend_from_slice(&state.revision.to_be_bytes());
    out.extend_from_slice(&state.last_lease.to_be_bytes());
    out.extend_from_slice(&(state.leases.len() as u32).to_be_bytes());
    for (lease, lifetime) in &state.leases {
        out.extend_from_slice(&lease.to_be_bytes());
        out.extend_from_slice(&lifetime.to_be_bytes());
    }
    out.extend_from_slice(&(state.entries.len() as u32).to_be_bytes());
    for (key, entry) in &state.entries {
        for part in [&key[..], &entry.value] {
            out.extend_from_slice(&(part.len() as u32).to_be_bytes());
            out.extend_from_slice(part);
        }
        out.extend_from_slice(&entry.revision.to_be_bytes());
        out.extend_from_slice(&entry.lease.unwrap_or(0).to_be_bytes());
    }
    let checksum = crc32fast::hash(&out);
    out.extend_from_slice(&checksum.to_be_bytes());
    out
}

/// # Errors
/// If it isn't what [`encode`] returned.
pub(super) fn decode(bytes: &[u8]) -> Result<State, FileStoreProblem> {
    let ([name @ .., ours], Some(([found @ .., version], rest))) =
        (MAGIC, bytes.split_first_chunk::<{ MAGIC.len() }>())
    else {
        // Shorter than its first field.
        return Err(match MAGIC.starts_with(bytes) {
            true => FileStoreProblem::Damaged,
            false => FileStoreProblem::Foreign,
        });
    };
    if found != name {
        return Err(FileStoreProblem::Foreign);
    }
    if version != ours {
        return Err(FileStoreProblem::OtherVersion { version: *version });
    }
    body(bytes, rest).and_then(state).ok_or(FileStoreProblem::Damaged)
}

/// Returns the body, if length and checksum are right.
fn body<'a>(bytes: &[u8], rest: &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = rest.split_first_chunk()?;
    let (body, checksum) = rest.split_last_chunk()?;
    let checked = bytes.get(..bytes.len().checked_sub(4)?)?;
    let is_whole = body.len() as u64 == u64::from_be_bytes(*len)
        && crc32fast::hash(checked) == u32::from_be_bytes(*checksum);
    is_whole.then_some(body)
}

fn state(body: &[u8]) -> Option<State> {
    let mut body = Reader(body);
    let revision = body.u64()?;
    let last_lease = body.u64()?;
    // Both are counted on from here; etcd's revisions are no greater either.
    if revision > i64::MAX as u64 || last_lease > i64::MAX as u64 {
        return None;
    }
    let mut leases = BTreeMap::new();
    for _ in 0..body.u32()? {
        leases.insert(body.u64()?, body.u32()?);
    }
    let mut entries: BTreeMap<Arc<[u8]>, Entry> = BTreeMap::new();
    for _ in 0..body.u32()? {
        let (key, value) = (body.bytes(MAX_KEY)?, body.bytes(MAX_VALUE)?);
        let (revision, lease) = (body.u64()?, body.u64()?);
        let lease = (lease != 0).then_some(lease);
        entries.insert(key.into(), Entry { value: value.into(), revision, lease });
    }
    body.0.is_empty().then(|| State::restored(revision, entries, leases, last_lease))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*value))
    }

    fn u64(&mut self) -> Option<u64> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*value))
    }

    fn bytes(&mut self, max: usize) -> Option<&'a [u8]> {
        let len = usize::try_from(self.u32()?).ok().filter(|len| *len <= max)?;
        let (value, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Change, Transaction};

    fn sample() -> State {
        let mut state = State::default();
        let lease = state.grant(60).expect("room");
        for (key, lease) in [(b"\xff\0".to_vec(), None), (b"a".to_vec(), Some(lease))] {
            let change = Change::Put { key, value: vec![1, 2, 3], lease };
            let it = Transaction { changes: vec![change], ..Transaction::default() };
            assert!(state.commit(it).is_ok());
        }
        state
    }

    #[test]
    fn a_state_is_read_back_as_it_was_written() {
        for state in [State::default(), sample()] {
            let bytes = encode(&state);
            assert_eq!(bytes.len(), bytes.capacity(), "its length is computed");
            let read = decode(&bytes).expect("as encoded");
            assert_eq!(read.read(b""), state.read(b""));
            assert_eq!((&read.leases, read.last_lease), (&state.leases, state.last_lease));
            assert_eq!(read.bytes, state.bytes);
            assert_eq!(encode(&read), bytes);
        }
    }

    #[test]
    fn a_truncated_longer_or_changed_file_is_refused() {
        let bytes = encode(&sample());
        for cut in 0..bytes.len() {
            let cut = decode(&bytes[..cut]).err();
            assert!(matches!(cut, Some(FileStoreProblem::Damaged)), "{cut:?}");
        }
        assert!(decode(&[&bytes[..], &[0]].concat()).is_err());
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let problem = decode(&changed).err();
                let expected = match at {
                    0..7 => matches!(problem, Some(FileStoreProblem::Foreign)),
                    7 => matches!(problem, Some(FileStoreProblem::OtherVersion { .. })),
                    _ => matches!(problem, Some(FileStoreProblem::Damaged)),
                };
                assert!(expected, "{at}: {problem:?}");
            }
        }
        let foreign = decode(b"{}").err();
        assert!(matches!(foreign, Some(FileStoreProblem::Foreign)), "{foreign:?}");
        let zeros = decode(&[0; 4096]).err();
        assert!(matches!(zeros, Some(FileStoreProblem::Foreign)), "{zeros:?}");
    }
}
