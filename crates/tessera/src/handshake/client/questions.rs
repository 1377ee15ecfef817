//! What a client asks.

use crate::auth::{Sign, VerifyPeer};
use crate::question::{Asked, questions};

questions! {
    /// The questions of a client.
    ///
    /// Later versions may ask more, but only where a configuration leaves the answer for later. To a
    /// question that it doesn't know, a driver has no answer: it ends the connection, or lets its time
    /// run out.
    pub enum ClientQuestion {
        /// Is the server who it should be?
        VerifyPeer,
        /// Sign with the client's key.
        Sign,
    }
}
