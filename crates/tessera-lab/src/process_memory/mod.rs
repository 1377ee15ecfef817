//! The adversary who reads the memory of a process: all of it that can be written, at one moment.
//!
//! [`Snapshot`] is the dump. [`search`] looks in it for values that are known, at every offset, and
//! [`open_blindly`] knows none: it tries everything in the dump that could be a secret against what was
//! recorded of connections. Linux only: elsewhere no process can be read.

mod blind;
mod mappings;
mod search;
mod snapshot;
mod windows;

pub use blind::{OpenedBy, Tried, Used, open_blindly};
pub use mappings::{Place, Thread};
pub use search::{Found, Needle, search};
pub use snapshot::{ProcessMemory, Snapshot};
pub use windows::{Window, windows};
