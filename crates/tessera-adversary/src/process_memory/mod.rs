//! The adversary who reads the memory of a process: everything writable, at one moment.
//!
//! [`Snapshot`] is the dump. [`search`] looks in it for known values, at every offset, while
//! [`open_blindly`](crate::open_blindly) knows none: it tries everything in the dump that could be a secret
//! ([`windows`]) on recorded connections. Linux only.

mod mappings;
mod search;
mod snapshot;
mod windows;

pub use mappings::{Place, Thread};
pub use search::{MemoryHit, Needle, search};
pub use snapshot::{ProcessMemory, Snapshot};
pub use windows::{Window, windows};
