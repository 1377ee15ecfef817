//! jemalloc's counters and arenas: each component has its own arena, so that jemalloc attributes every byte, even if
//! one component frees what another allocated.

use std::io;

use tikv_jemalloc_ctl::{Access, AsName, Mib, epoch, thread};

/// Returns how many bytes the calling thread has allocated and not freed, including C libraries. The number may be
/// negative or arbitrary if memory moves between threads; differences over code that runs in one thread are exact.
///
/// # Errors
/// If the counters can't be read.
pub(crate) fn held_by_thread() -> io::Result<i64> {
    let allocated = thread::allocatedp::read().map_err(failed)?.get();
    let deallocated = thread::deallocatedp::read().map_err(failed)?.get();
    Ok(allocated.wrapping_sub(deallocated).cast_signed())
}

/// Returns the maximum of [`held_by_thread`] since the thread began. jemalloc samples it after each 64 KiB that a
/// thread allocates, so that up to 64 KiB may be missing.
///
/// # Errors
/// If the counters can't be read.
pub(crate) fn most_held_by_thread() -> io::Result<i64> {
    let most: u64 = "thread.peak.read\0".name().read().map_err(failed)?;
    Ok(most.cast_signed())
}

/// Returns how many bytes the calling thread has ever allocated.
///
/// # Errors
/// If the counters can't be read.
pub(crate) fn allocated_by_thread() -> io::Result<u64> {
    Ok(thread::allocatedp::read().map_err(failed)?.get())
}

/// An arena, with two jemalloc keys for its contents: small and large allocations.
pub(crate) struct Arena {
    index: u32,
    small: Mib<[usize; 5]>,
    large: Mib<[usize; 5]>,
}

/// The place of an arena's index in a key.
const INDEX: usize = 2;

impl Arena {
    /// Creates an arena, which lives as long as the process.
    ///
    /// # Errors
    /// If jemalloc has no more arenas.
    pub(crate) fn create() -> io::Result<Self> {
        let index: u32 = "arenas.create\0".name().read().map_err(failed)?;
        let [small, large] =
            ["stats.arenas.0.small.allocated\0", "stats.arenas.0.large.allocated\0"].map(|key| {
                let mut key: Mib<[usize; 5]> = key.name().mib().map_err(failed)?;
                key[INDEX] = index as usize;
                io::Result::Ok(key)
            });
        Ok(Self { index, small: small?, large: large? })
    }

    /// From now on the calling thread allocates from this arena.
    ///
    /// # Errors
    /// If jemalloc refuses.
    pub(crate) fn enter(&self) -> io::Result<()> {
        "thread.arena\0".name().write(self.index).map_err(failed)
    }

    /// Returns how many bytes it held at the last [`refresh`].
    ///
    /// # Errors
    /// If the counters can't be read.
    pub(crate) fn held(&self) -> io::Result<i64> {
        let small: usize = self.small.read().map_err(failed)?;
        let large: usize = self.large.read().map_err(failed)?;
        Ok((small + large) as i64)
    }
}

/// Updates the counters of arenas.
///
/// # Errors
/// If jemalloc refuses.
pub(crate) fn refresh() -> io::Result<()> {
    epoch::advance().map(|_| ()).map_err(failed)
}

/// From now on the calling thread frees into its arena at once, and allocates from there.
///
/// # Errors
/// If jemalloc refuses.
pub(crate) fn without_cache() -> io::Result<()> {
    "thread.tcache.enabled\0".name().write(false).map_err(failed)
}

fn failed(error: tikv_jemalloc_ctl::Error) -> io::Error {
    io::Error::other(format!("reading jemalloc's counters: {error}"))
}
