//! Where a client's sessions are between its connections.

use super::client_session::ClientSession;

/// Keeps sessions, and returns each once.
///
/// A store belongs to one [`ClientConfig`](crate::ClientConfig): a session remembers that its server was
/// accepted, and is resumed without asking the verifier again.
///
/// Methods may block, unless [`blocks`](Self::blocks) returns `false`; where other connections would wait, they are called
/// on threads for blocking work. They don't fail: a session that can't be kept or found costs a round trip.
///
/// ```
/// use std::sync::{Mutex, PoisonError};
/// use tessera::resume::{ClientSession, SessionStore};
///
/// /// For a program that knows one server.
/// #[derive(Default)]
/// struct OneServer(Mutex<Option<ClientSession>>);
///
/// impl SessionStore for OneServer {
///     fn put(&self, _server_name: &str, session: ClientSession) {
///         *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
///     }
///     fn pop(&self, _server_name: &str) -> Option<ClientSession> {
///         self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
///     }
/// }
/// ```
pub trait SessionStore: Send + Sync {
    /// Stores a session with this server.
    fn put(&self, server_name: &str, session: ClientSession);

    /// Takes the newest usable session with this server. A session that was returned must never be returned
    /// again, to any caller, not even after a crash: a session that is used twice links two connections, and
    /// its early data may be lost or read by others (RFC 8446 §C.4).
    fn pop(&self, server_name: &str) -> Option<ClientSession>;

    /// Removes all sessions except those for which `keep` returns true. Default: removes nothing; a session
    /// that may not be offered then leaves the store when it is taken.
    fn retain(&self, keep: &dyn Fn(&ClientSession) -> bool) {
        let _ = keep;
    }

    /// Returns whether the methods may block. A store in memory returns `false` and is called in place,
    /// because a switch to another thread and back takes longer than the call.
    fn blocks(&self) -> bool {
        true
    }
}
