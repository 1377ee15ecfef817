//! What is on the heap.

use std::io;

use tikv_jemalloc_ctl::thread;

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

fn failed(error: tikv_jemalloc_ctl::Error) -> io::Error {
    io::Error::other(format!("reading jemalloc's counters: {error}"))
}
