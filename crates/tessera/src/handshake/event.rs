//! What a handshake reports to the user.

use alloc::boxed::Box;

use crate::resume::{ClientSession, Verdict};

/// Something happened.
///
/// Later versions may tell more; what isn't known needs no attention. So this does not compile:
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
    /// The handshake is complete on this side: the peer is authenticated, and everything before was
    /// not tampered with.
    HandshakeComplete,
    /// To the client: the server took the early data.
    EarlyDataAccepted,
    /// To the client: the server did not take the early data. The verdict says whether resending is
    /// safe; nothing is resent by itself.
    EarlyDataRejected(Verdict),
    /// To the server: the client's early data is complete. Protocols without EndOfEarlyData (DTLS, QUIC)
    /// don't say so.
    EarlyDataEnd,
    /// To the client: a session to come back with.
    NewSession(Box<ClientSession>),
}
