//! The values of labels.

use tessera::Facts;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::Verdict;
use tessera_proxy::admin::Label;
use tessera_proxy::label;

use crate::reconnection::Mode;

label! {
    /// The direction of a request.
    Direction: "direction" {
        /// From a local network function to the peer.
        Outgoing = "outgoing",
        /// From the peer to a local network function.
        Incoming = "incoming",
    }
}

label! {
    /// Which side began an exchange on N32-c.
    Role: "role" {
        /// This SEPP.
        Initiator = "initiator",
        /// The peer.
        Responder = "responder",
    }
}

label! {
    /// The outcome of an exchange on N32-c, a handshake, or a reload.
    Result: "result" {
        /// It succeeded.
        Ok = "ok",
        /// It failed.
        Failed = "failed",
    }
}

label! {
    /// The outcome of a flight with early data.
    EarlyDataResult: "result" {
        /// The server accepted it.
        Accepted = "accepted",
        /// It was not processed and never can be: it is sent again.
        Burned = "burned",
        /// It was processed before.
        Used = "used",
        /// It isn't known whether it was processed.
        Unknown = "unknown",
    }
}

label! {
    /// The outcome of a one-time ticket at the server.
    TicketResult: "result" {
        /// It was present, and is now consumed.
        Ok = "ok",
        /// It was used before.
        Replay = "replay",
        /// The store doesn't have it: it is too old, or was lost with an earlier store.
        Unknown = "unknown",
        /// Another instance issued it.
        ForeignShard = "foreign_shard",
    }
}

impl Label for Mode {
    const KEY: &'static str = "mode";
    const ALL: &'static [Self] = &[
        Self::Full,
        Self::PskKe,
        Self::PskDheKe,
        Self::ReplayableEarlyData,
        Self::ForwardSecretEarlyData,
    ];

    fn name(self) -> &'static str {
        self.letter()
    }

    fn index(self) -> usize {
        self as usize
    }
}

impl EarlyDataResult {
    /// Returns the outcome; `None` if no early data was offered, or the server didn't answer it.
    #[must_use]
    pub fn of(facts: &Facts) -> Option<Self> {
        match facts.early_data {
            EarlyDataStatus::Accepted => Some(Self::Accepted),
            EarlyDataStatus::Rejected(Verdict::Burned) => Some(Self::Burned),
            EarlyDataStatus::Rejected(Verdict::Used) => Some(Self::Used),
            EarlyDataStatus::Rejected(_) => Some(Self::Unknown),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_know_their_place() {
        for (index, mode) in Mode::ALL.iter().enumerate() {
            assert_eq!(mode.index(), index);
        }
    }
}
