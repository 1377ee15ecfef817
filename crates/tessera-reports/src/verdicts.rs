//! What a connection protects.

use serde::{Deserialize, Serialize};

/// From when on stolen keys do not decrypt what was sent: forward secrecy, and when it begins. The worse is the
/// greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForwardSecrecy {
    /// From the end of the handshake: both sides' ephemeral keys are gone.
    Handshake,
    /// From the moment the server took the one-time key, or the key expired: until then an attacker who reads the
    /// server's vault and the client's ticket decrypts a recorded flight. After it no attacker does, even with all
    /// memory of the server's process.
    FromTakeOrExpiry,
    /// From the end of the epoch under whose key the one-time keys were stored. No vault of this
    /// experiment stores them so; that of a fleet does.
    FromEpochEnd,
    /// From the moment that the server took the one-time secret *and* the client's storage, backups included, forgot
    /// it: until then either copy alone decrypts a recorded flight.
    FromDeletionByBoth,
    /// Never: an attacker who learns the ticket's keys later decrypts a recording.
    None,
}

/// The verdicts on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Of the first request byte.
    pub first_byte_fs: ForwardSecrecy,
    /// Of everything after the handshake.
    pub session_fs: ForwardSecrecy,
    /// How often the server's application executed one request, whose first flight was recorded and replayed; measured.
    pub replay_executions: u32,
    /// Whether a quantum computer does not decrypt a recording: the weaker of first byte and session, and of every
    /// connection since the last full handshake.
    pub pq_confidentiality: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_verdicts_are_those_of_the_report() {
        for (fs, name) in [
            (ForwardSecrecy::Handshake, "handshake"),
            (ForwardSecrecy::FromTakeOrExpiry, "from_take_or_expiry"),
            (ForwardSecrecy::FromEpochEnd, "from_epoch_end"),
            (ForwardSecrecy::FromDeletionByBoth, "from_deletion_by_both"),
            (ForwardSecrecy::None, "none"),
        ] {
            assert_eq!(serde_json::to_value(fs).unwrap(), name);
        }
    }
}
