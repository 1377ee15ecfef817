//! What is on the heap, where the program counts it.
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

/// Whether this program counts what is on its heap.
pub(crate) const IS_COUNTED: bool = cfg!(feature = "heap");

/// What [`held_by_thread`] returns, where the program counts.
pub(crate) fn held_if_counted() -> io::Result<Option<i64>> {
    if IS_COUNTED { held_by_thread().map(Some) } else { Ok(None) }
}

/// What was given back from the first reading to the second.
pub(crate) fn difference(before: Option<i64>, after: Option<i64>) -> Option<i64> {
    Some(before? - after?)
}

/// Why a program doesn't measure memory, and which does.
pub(crate) const UNCOUNTED: &str =
    "this program doesn't count what is on its heap: build it with `--features heap`";

/// What is wrong where counters stay at zero: only a program decides what allocates.
pub(crate) const NO_ALLOCATOR: &str = "this program doesn't allocate with jemalloc";
