//! Where a member keeps its ring for a start at which the store can't be reached.

use std::io;

/// Where a member keeps its ring. What it gets is sealed under the wrapping keys.
pub trait RingCache: Send + Sync + 'static {
    /// Reads what was saved last; `None` if nothing was.
    ///
    /// # Errors
    /// If it can't be read. The member starts without keys then.
    fn load(&self) -> io::Result<Option<Vec<u8>>>;

    /// Replaces what was saved, durably.
    ///
    /// # Errors
    /// If it can't be written: the error is logged, and it is tried again with the next change.
    fn save(&self, sealed: &[u8]) -> io::Result<()>;
}
