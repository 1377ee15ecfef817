//! The two ends of a connection.

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The end that sends the first message.
    Client,
    /// The end that answers it.
    Server,
}
