//! The owner of a connection.

use std::error::Error;
use std::sync::Arc;

use super::Connection;

/// The pool, as its connections see it.
pub(in crate::http::client) trait Owner: Send + Sync {
    /// A place may be free for waiting calls.
    fn serve(&self);
    /// The connection takes no more calls.
    fn forget(&self, connection: &Connection);
    /// Whether it may close: enough warm connections remain.
    fn may_close(&self, connection: &Connection) -> bool;
    /// The handshake of its first flight is complete.
    fn note_opened(&self, connection: &Connection);
    /// The handshake of its first flight did not complete.
    fn note_unopened(&self, connection: &Connection);
    /// Its server turned out to be unreachable.
    fn note_failure(&self, connection: &Connection, cause: Arc<dyn Error + Send + Sync>);
    /// Its address is slow: try another in parallel.
    fn try_next(&self);
    /// Fewer connections than configured may be left.
    fn maintain(&self);
}
