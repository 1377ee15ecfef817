//! Searches for known values.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use zeroize::Zeroizing;

use super::Snapshot;

/// A value to search for.
#[derive(Clone)]
pub struct Needle {
    /// Its name.
    pub name: String,
    /// The value: at least eight bytes.
    pub bytes: Zeroizing<Vec<u8>>,
}

/// A value that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryHit {
    /// Where it begins.
    pub address: u64,
    /// Which of the needles.
    pub needle: usize,
}

/// Searches for all needles at every offset.
///
/// Those shorter than eight bytes are ignored.
#[must_use]
pub fn search(snapshot: &Snapshot, needles: &[Needle]) -> Vec<MemoryHit> {
    let index = Index::new(needles);
    let found = Mutex::new(Vec::new());
    let parts: Vec<_> = snapshot
        .segments
        .iter()
        .flat_map(|segment| (0..segment.bytes.len()).step_by(PART).map(move |at| (segment, at)))
        .collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((segment, start)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let bytes = &segment.bytes[*start..];
                    let here = index.find(bytes, PART).map(|(at, needle)| {
                        let address = segment.address + (start + at) as u64;
                        MemoryHit { address, needle }
                    });
                    found.lock().unwrap_or_else(PoisonError::into_inner).extend(here);
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable();
    found
}

/// The needles by their first eight bytes.
struct Index<'a> {
    needles: &'a [Needle],
    by_prefix: HashMap<u64, Vec<usize>>,
    /// A filter that rules out nearly every place of a memory.
    may_be: Vec<u64>,
}

impl<'a> Index<'a> {
    fn new(needles: &'a [Needle]) -> Self {
        let mut by_prefix: HashMap<_, Vec<_>> = HashMap::new();
        let mut may_be = vec![0; 1 << (FILTER_BITS - 6)];
        for (number, needle) in needles.iter().enumerate() {
            let Some(prefix) = needle.bytes.first_chunk() else { continue };
            let prefix = u64::from_ne_bytes(*prefix);
            by_prefix.entry(prefix).or_default().push(number);
            let bit = spread(prefix);
            may_be[bit >> 6] |= 1u64 << (bit & 63);
        }
        Self { needles, by_prefix, may_be }
    }

    /// Returns the matches that begin in the first `len` bytes: where, and which needle.
    fn find(&self, bytes: &[u8], len: usize) -> impl Iterator<Item = (usize, usize)> {
        bytes.windows(8).take(len).enumerate().flat_map(move |(at, prefix)| {
            let prefix = prefix.first_chunk().map_or(0, |prefix| u64::from_ne_bytes(*prefix));
            let bit = spread(prefix);
            let may_be = self.may_be[bit >> 6] >> (bit & 63) & 1 == 1;
            let numbers = may_be.then(|| self.by_prefix.get(&prefix)).flatten();
            let is_here = move |number: &&usize| {
                bytes[at..].starts_with(self.needles[**number].bytes.as_slice())
            };
            numbers.into_iter().flatten().filter(is_here).map(move |number| (at, *number))
        })
    }
}

fn spread(prefix: u64) -> usize {
    (prefix.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FILTER_BITS)) as usize
}

const FILTER_BITS: u32 = 24;

/// How much one thread searches at once, in bytes.
const PART: usize = 1 << 20;
