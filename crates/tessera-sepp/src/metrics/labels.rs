//! The values of labels.

use tessera::Facts;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{PskKind, Verdict};
use tessera_proxy::label;

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
    /// What became of an exchange on N32-c, or of a handshake.
    Result: "result" {
        /// It succeeded.
        Ok = "ok",
        /// It did not.
        Failed = "failed",
    }
}

label! {
    /// How a TLS connection came about: the ways of docs/sepp.md.
    Mode: "mode" {
        /// A full handshake, with certificates of both sides.
        Full = "a",
        /// Resumed without a key agreement (psk_ke).
        PskKe = "b",
        /// Resumed with a key agreement (psk_dhe_ke).
        PskDheKe = "c",
        /// Resumed with early data that can be replayed.
        ReplayableEarlyData = "d",
        /// Resumed with a forward-secret ticket.
        ForwardSecret = "e",
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
        /// Nobody knows it, or its key was lost with an earlier life of the store.
        Unknown = "unknown",
        /// It is too old.
        Expired = "expired",
        /// Another instance issued it.
        ForeignShard = "foreign_shard",
    }
}

label! {
    /// What became of a reload.
    ReloadResult: "result" {
        /// The new configuration is in use.
        Ok = "ok",
        /// All goes on as it was.
        Failed = "failed",
    }
}

label! {
    /// Whose certificate.
    Certificate: "cert" {
        /// The own one on N32.
        Own = "own",
        /// That which the peer showed last.
        Leaf = "leaf",
        /// That root of its anchor which ends first.
        Root = "root",
    }
}

impl Mode {
    /// Of a handshake that is complete.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let is_early = facts.early_data != EarlyDataStatus::NotOffered;
        match facts.psk {
            None => Self::Full,
            Some(PskKind::ForwardSecret) => Self::ForwardSecret,
            Some(_) if is_early => Self::ReplayableEarlyData,
            Some(_) if facts.group.is_none() => Self::PskKe,
            Some(_) => Self::PskDheKe,
        }
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
