//! What is on the heap.

use std::io;

use tikv_jemalloc_ctl::{Access, AsName, thread};

/// How many bytes the calling thread has allocated and not given back, by jemalloc's own count of
/// every allocation, those of C libraries included. The number may be negative or arbitrary where
/// memory moves between threads; differences over code that runs in one thread are exact.
///
/// It stays the same where the program does not use jemalloc.
pub(crate) fn held_by_thread() -> io::Result<i64> {
    let allocated = thread::allocatedp::read().map_err(failed)?.get();
    let deallocated = thread::deallocatedp::read().map_err(failed)?.get();
    Ok(allocated.wrapping_sub(deallocated).cast_signed())
}

/// The most of that since the thread began. jemalloc looks each time that a thread has allocated 64 KiB more: so much
/// may be missing.
pub(crate) fn most_held_by_thread() -> io::Result<i64> {
    let most: u64 = "thread.peak.read\0".name().read().map_err(failed)?;
    Ok(most.cast_signed())
}

fn failed(error: tikv_jemalloc_ctl::Error) -> io::Error {
    io::Error::other(format!("reading jemalloc's counters: {error}"))
}
