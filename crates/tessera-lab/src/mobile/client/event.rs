//! What happens at a client, as programs report it, one JSON object a line. Times are in nanoseconds.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum ClientEvent {
    /// A handshake begins.
    HandshakeBegin { at: u64 },
    /// It is complete.
    HandshakeEnd { at: u64 },
    /// A message is sent, perhaps again.
    Sent { at: u64, message: u32 },
    /// It was acknowledged, for the first time.
    Ack { at: u64, message: u32 },
    /// No acknowledgement came in time.
    Timeout { at: u64 },
    /// The client has another socket.
    Socket { at: u64, address: Option<SocketAddr> },
}

impl ClientEvent {
    /// Counts its time from a moment on.
    pub(crate) fn count_from(&mut self, moment: u64) {
        match self {
            Self::HandshakeBegin { at }
            | Self::HandshakeEnd { at }
            | Self::Sent { at, .. }
            | Self::Ack { at, .. }
            | Self::Timeout { at }
            | Self::Socket { at, .. } => *at = at.saturating_sub(moment),
        }
    }

    pub(crate) fn at(&self) -> u64 {
        match self {
            Self::HandshakeBegin { at }
            | Self::HandshakeEnd { at }
            | Self::Sent { at, .. }
            | Self::Ack { at, .. }
            | Self::Timeout { at }
            | Self::Socket { at, .. } => *at,
        }
    }
}
