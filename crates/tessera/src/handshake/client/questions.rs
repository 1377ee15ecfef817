//! The questions of a client.

use crate::auth::{Decapsulate, Sign, VerifyPeer};
use crate::question::{OpenQuestion, questions};

questions! {
    /// The questions of a client.
    ///
    /// Later versions may ask more, but only where a configuration leaves the answer for later. A driver that
    /// doesn't know a question ends the connection, or lets it time out.
    pub enum ClientQuestion {
        /// Is the server the expected one?
        VerifyPeer,
        /// Sign with the client's key.
        Sign,
        /// Decapsulate with the client's key.
        Decapsulate,
    }
}
