//! Whether a connection's handshake is complete, for code that doesn't hold its stream.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

/// Reports whether the handshake of a connection is complete; until then data read may be early data. It can
/// be cloned, and kept while an HTTP server owns the stream.
///
/// ```
/// use std::io;
/// use tessera_tokio::HandshakeWatch;
///
/// async fn execute(watch: HandshakeWatch) -> io::Result<()> {
///     if watch.is_replayable() {
///         watch.completed().await?;
///     }
///     // What must not be executed twice.
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct HandshakeWatch {
    shared: Arc<Shared>,
    replayable: bool,
}

impl HandshakeWatch {
    /// Returns whether the handshake is complete: the peer is alive, and nothing read so far was a replay.
    pub fn is_complete(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) == COMPLETE
    }

    /// Returns whether the connection's early data could have been replayed: `false` if there is none, and
    /// for forward-secret early data, which is accepted at most once.
    pub fn is_replayable(&self) -> bool {
        self.replayable
    }

    /// Waits until the handshake is complete. The stream must be read or written meanwhile. After an error
    /// the handshake will not complete.
    pub async fn completed(&self) -> io::Result<()> {
        loop {
            let notified = self.shared.notify.notified();
            match self.shared.state.load(Ordering::Acquire) {
                COMPLETE => return Ok(()),
                OVER => return Err(io::ErrorKind::ConnectionAborted.into()),
                _ => notified.await,
            }
        }
    }
}

#[derive(Debug)]
struct Shared {
    state: AtomicU8,
    notify: Notify,
}

const OPEN: u8 = 0;
const COMPLETE: u8 = 1;
/// The connection ended before its handshake was complete.
const OVER: u8 = 2;

/// The connection's end of the watches; it costs nothing until one is requested.
#[derive(Default)]
pub(crate) struct Completion {
    shared: Option<Arc<Shared>>,
    /// Dropped when the handshake is over.
    guard: Option<Box<dyn Send + Sync>>,
}

impl Completion {
    pub(crate) fn guard(&mut self, guard: Box<dyn Send + Sync>) {
        self.guard = Some(guard);
    }

    pub(crate) fn watch(&mut self, is_complete: bool, replayable: bool) -> HandshakeWatch {
        let shared = self.shared.get_or_insert_with(|| {
            let state = AtomicU8::new(if is_complete { COMPLETE } else { OPEN });
            Arc::new(Shared { state, notify: Notify::new() })
        });
        HandshakeWatch { shared: shared.clone(), replayable }
    }

    pub(crate) fn complete(&mut self) {
        self.guard = None;
        self.end(COMPLETE);
    }

    fn end(&self, state: u8) {
        if let Some(shared) = &self.shared {
            let _ = shared.state.compare_exchange(OPEN, state, Ordering::AcqRel, Ordering::Acquire);
            shared.notify.notify_waiters();
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.end(OVER);
    }
}
