//! What a handshake reports to the user.

use alloc::boxed::Box;

use crate::resume::{ClientSession, Verdict};

/// An event of a handshake.
///
/// Later versions may add events; unknown ones need no attention. So this does not compile:
///
/// ```compile_fail,E0004
/// use tessera::Event;
///
/// fn name(event: &Event) -> &'static str {
///     match event {
///         Event::HandshakeComplete => "complete",
///         Event::EarlyDataAccepted => "accepted",
///         Event::EarlyDataRejected(_) => "rejected",
///         Event::EarlyDataEnd => "end",
///         Event::NewSession(_) => "session",
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete on this side: the peer is authenticated, and no earlier message was
    /// tampered with.
    HandshakeComplete,
    /// On a client: the server accepted the early data.
    EarlyDataAccepted,
    /// On a client: the server rejected the early data. The verdict states whether resending is
    /// safe; the engine never resends by itself.
    EarlyDataRejected(Verdict),
    /// On a server: the client's early data is complete. Protocols without EndOfEarlyData (DTLS, QUIC)
    /// don't report it.
    EarlyDataEnd,
    /// On a client: a session with which to reconnect.
    NewSession(Box<ClientSession>),
}
