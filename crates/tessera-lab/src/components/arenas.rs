//! Arenas of jemalloc's: each component allocates from one of its own, so that jemalloc itself knows what is
//! whose, also where one component gives back what another took.

use std::io;

use tikv_jemalloc_ctl::{Access, AsName, Mib, epoch, thread};

/// What an arena holds, as two keys of jemalloc's: small and large allocations.
pub(super) struct Arena {
    index: u32,
    small: Mib<[usize; 5]>,
    large: Mib<[usize; 5]>,
}

/// The place of an arena's index in a key.
const INDEX: usize = 2;

impl Arena {
    /// A new one; it lives as long as the process.
    pub(super) fn create() -> io::Result<Self> {
        let index: u32 = "arenas.create\0".name().read().map_err(failed)?;
        let [small, large] =
            ["stats.arenas.0.small.allocated\0", "stats.arenas.0.large.allocated\0"].map(|key| {
                let mut key: Mib<[usize; 5]> = key.name().mib().map_err(failed)?;
                key[INDEX] = index as usize;
                io::Result::Ok(key)
            });
        Ok(Self { index, small: small?, large: large? })
    }

    /// What the calling thread allocates comes from this arena from now on.
    pub(super) fn enter(&self) -> io::Result<()> {
        "thread.arena\0".name().write(self.index).map_err(failed)
    }

    /// How many bytes it held at the last [`refresh`].
    pub(super) fn held(&self) -> io::Result<i64> {
        let small: usize = self.small.read().map_err(failed)?;
        let large: usize = self.large.read().map_err(failed)?;
        Ok((small + large) as i64)
    }
}

/// Brings jemalloc's numbers up to date.
pub(super) fn refresh() -> io::Result<()> {
    epoch::advance().map(|_| ()).map_err(failed)
}

/// What the calling thread frees goes back to its arena at once, and what it allocates comes from there.
pub(super) fn without_cache() -> io::Result<()> {
    "thread.tcache.enabled\0".name().write(false).map_err(failed)
}

/// How many bytes the calling thread has ever allocated.
pub(super) fn allocated_by_thread() -> io::Result<u64> {
    Ok(thread::allocatedp::read().map_err(failed)?.get())
}

fn failed(error: tikv_jemalloc_ctl::Error) -> io::Error {
    io::Error::other(format!("jemalloc's books: {error}"))
}
