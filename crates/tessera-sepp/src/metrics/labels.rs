//! The values of labels.

use tessera::Facts;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::Verdict;
use tessera_proxy::admin::Label;
use tessera_proxy::label;

use crate::reconnection::Mode;

label! {
    /// Which way a request goes.
    Direction: "direction" {
        /// From an own network function to the peer.
        Outgoing = "outgoing",
        /// From the peer to an own network function.
        Incoming = "incoming",
    }
}

label! {
    /// Who began an exchange on N32-c.
    Role: "role" {
        /// This SEPP.
        Initiator = "initiator",
        /// The peer.
        Responder = "responder",
    }
}

label! {
    /// What became of an exchange on N32-c, of a handshake, or of a reload.
    Result: "result" {
        /// It succeeded.
        Ok = "ok",
        /// It did not.
        Failed = "failed",
    }
}

label! {
    /// What became of a flight with early data.
    EarlyDataResult: "result" {
        /// The server took it.
        Accepted = "accepted",
        /// Nobody processed it or can: it is sent again.
        Burned = "burned",
        /// It was processed before.
        Used = "used",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

label! {
    /// What became of a one-time ticket at the server.
    TicketResult: "result" {
        /// It was there, and is gone now.
        Ok = "ok",
        /// It was used before.
        Replay = "replay",
        /// Nobody knows it: it is too old, or was lost with an earlier life of the store.
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
    /// What was answered; `None` if nothing was offered or nothing answered.
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
