//! The adversary who reads the memory of a process: all of it that can be written, at one moment.
//!
//! [`Snapshot`] is the dump. [`search`] looks in it for values that are known, at every offset, and
//! [`open_blindly`](crate::open_blindly) knows none: it tries everything in the dump that could be a secret
//! ([`windows`]) against what was recorded of connections. Linux only: elsewhere no process can be read.

mod mappings;
mod search;
mod snapshot;
mod windows;

pub use mappings::{Place, Thread};
pub use search::{Found, Needle, search};
pub use snapshot::{ProcessMemory, Snapshot};
pub use windows::{Window, windows};
