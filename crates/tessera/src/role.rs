//! Which end of a connection.

/// Which end of a connection: the one that began it, or the one that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The end that sends the ClientHello.
    Client,
    /// The end that answers it.
    Server,
}
