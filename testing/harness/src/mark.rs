//! Secrets that can be found in the memory of this process.

use std::collections::hash_map::RandomState;
use std::fs::{File, read_to_string};
use std::hash::BuildHasher;
use std::os::unix::fs::FileExt;

/// Bytes to search for. Only their complement is in memory, except for what [`fill`](Self::fill) writes.
///
/// Tests that count need a process each: otherwise one would find what another still holds.
pub struct Mark([u8; Self::LEN]);

impl Mark {
    /// Its length in bytes.
    pub const LEN: usize = 16;

    /// Random bytes.
    #[expect(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        let [one, two] = [0, 1].map(|it: u8| RandomState::new().hash_one(it).to_ne_bytes());
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&one);
        bytes[8..].copy_from_slice(&two);
        Self(bytes)
    }

    /// Marks the beginning of a secret, which must be at least as long.
    pub fn of(secret: &[u8]) -> Self {
        let mut bytes = [0; Self::LEN];
        for (byte, secret) in bytes.iter_mut().zip(&secret[..Self::LEN]) {
            *byte = !secret;
        }
        Self(bytes)
    }

    /// Fills a buffer with copies of the mark, so that an allocator that reuses freed memory for its own data leaves
    /// some of it.
    pub fn fill(&self, out: &mut [u8]) {
        for (at, byte) in out.iter_mut().enumerate() {
            *byte = !self.0[at % Self::LEN];
        }
    }

    /// Returns how often it is in the memory of this process.
    ///
    /// # Panics
    /// If /proc is unavailable.
    pub fn count(&self) -> usize {
        // Allocated before the maps are read, so that it is not new memory.
        let mut part = vec![0; 1 << 20];
        let maps = read_to_string("/proc/self/maps").expect("the maps");
        let memory = File::open("/proc/self/mem").expect("the memory");
        let mut found = 0;
        for line in maps.lines().filter(|line| line.contains(" rw")) {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let (start, end) = range.expect("a range");
            let [mut at, end] =
                [start, end].map(|it| u64::from_str_radix(it, 16).expect("an address"));
            while at < end {
                let len = part.len().min((end - at) as usize);
                // Memory that was unmapped meanwhile holds nothing.
                let Ok(read @ 1..) = memory.read_at(&mut part[..len], at) else { break };
                let is_mark = |window: &&[u8]| window.iter().zip(&self.0).all(|(a, b)| *a == !b);
                found += part[..read].windows(Self::LEN).filter(is_mark).count();
                // The read buffer itself must not count as a copy.
                part[..read].fill(0);
                at += read as u64;
            }
        }
        found
    }
}
