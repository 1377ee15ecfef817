//! The two ends of a connection.

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The end that sends the first message.
    Client,
    /// The end that answers it.
    Server,
}

impl Role {
    /// Returns the other end.
    pub(crate) fn peer(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}
