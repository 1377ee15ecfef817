//! Measures the heap, if the program is built for it.
//!
//! The feature `heap` allocates with jemalloc, whose counters include the allocations of C libraries. jemalloc takes
//! minutes to build, and most experiments don't need it, so the feature is off by default.

#[cfg(feature = "heap")]
mod jemalloc;
#[cfg(not(feature = "heap"))]
mod uncounted;

use std::io;

#[cfg(feature = "heap")]
use self::jemalloc as counts;
#[cfg(not(feature = "heap"))]
use self::uncounted as counts;

pub(crate) use self::counts::{
    Arena, allocated_by_thread, held_by_thread, most_held_by_thread, refresh, without_cache,
};

/// Whether this program measures its heap.
pub(crate) const IS_COUNTED: bool = cfg!(feature = "heap");

/// Returns [`held_by_thread`], if the program measures it.
pub(crate) fn held_if_counted() -> io::Result<Option<i64>> {
    if IS_COUNTED { held_by_thread().map(Some) } else { Ok(None) }
}

/// Returns what was freed between the first reading and the second.
pub(crate) fn difference(before: Option<i64>, after: Option<i64>) -> Option<i64> {
    Some(before? - after?)
}

/// Why a program doesn't measure memory, and which one does.
pub(crate) const UNCOUNTED: &str =
    "this program doesn't count what is on its heap: build it with `--features heap`";

/// The error if counters stay at zero: only the program chooses its allocator.
pub(crate) const NO_ALLOCATOR: &str = "this program doesn't allocate with jemalloc";
