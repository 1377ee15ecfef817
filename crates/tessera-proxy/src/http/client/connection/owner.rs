//! Who keeps a connection.

use std::error::Error;
use std::sync::Arc;

use super::Connection;

/// What the connection tells the pool that it is in, and asks it.
pub(in crate::http::client) trait Owner: Send + Sync {
    /// A place may be free for those that wait.
    fn serve(&self);
    /// It takes no call any more.
    fn forget(&self, connection: &Connection);
    /// Whether it may end: those that are to be kept warm are left.
    fn may_close(&self, connection: &Connection) -> bool;
    /// The handshake of its first flight is complete.
    fn note_opened(&self, connection: &Connection);
    /// The handshake of its first flight came to no end.
    fn note_unopened(&self, connection: &Connection);
    /// Its server could not be reached after all.
    fn note_failure(&self, connection: &Connection, cause: Arc<dyn Error + Send + Sync>);
    /// Its address lets wait: another is to be tried beside it.
    fn try_next(&self);
    /// Fewer connections than are to be kept may be left.
    fn maintain(&self);
}
