//! What a handshake tells the user.

use alloc::boxed::Box;

use crate::resume::{ClientSession, Verdict};

/// Something happened.
#[derive(Debug)]
pub enum Event {
    /// The handshake is complete on this side: the peer is authenticated, and everything before was
    /// not tampered with.
    HandshakeComplete,
    /// To the client: the server took the early data.
    EarlyDataAccepted,
    /// To the client: the server did not take the early data. The verdict says whether resending is
    /// safe; nothing is resent by itself.
    EarlyDataRejected(Verdict),
    /// To the server: the client's early data is complete.
    EarlyDataEnd,
    /// To the client: a session to come back with.
    NewSession(Box<ClientSession>),
}
