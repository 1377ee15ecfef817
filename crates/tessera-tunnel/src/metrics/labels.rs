//! The values of labels.

use std::io;

use tessera::Facts;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{PskKind, Verdict};
use tessera_proxy::label;
use tessera_tokio::EarlyDataOutcome;

label! {
    /// Which end of a tunnel it is.
    Role: "role" {
        /// Local programs connect to it, and it speaks TLS to the server.
        Client = "client",
        /// It takes TLS, and connects to the backend.
        Server = "server",
    }
}

label! {
    /// How a connection ended.
    Outcome: "outcome" {
        /// Both directions ended in order.
        Completed = "completed",
        /// The next hop could not be reached: the server, or the backend. Nothing was sent.
        Unreachable = "unreachable",
        /// The TLS handshake failed, and no early data had left.
        HandshakeFailed = "handshake_failed",
        /// To a client: early data may have been executed, and nothing is sent again. The local
        /// connection was reset.
        ResetByVerdict = "reset_by_verdict",
        /// The local side (client: the program; server: the backend) failed after the handshake.
        LocalFailed = "local_failed",
        /// The connection between client and server failed after the handshake.
        PeerFailed = "peer_failed",
        /// Nothing was moved for too long, or a side didn't read for too long.
        TimedOut = "timed_out",
        /// It was cut since the process ends, or since a reload withdrew what it rests on.
        Cut = "cut",
    }
}

label! {
    /// How a TLS handshake authenticated, or that it failed.
    HandshakeKind: "kind" {
        /// With certificates or raw public keys.
        Full = "full",
        /// With an ordinary ticket.
        Resumed = "resumed",
        /// With a forward-secret ticket.
        ForwardSecret = "forward_secret",
        /// With an external PSK.
        ExternalPsk = "external_psk",
        /// It was not completed.
        Failed = "failed",
    }
}

label! {
    /// What became of a flight with early data.
    EarlyDataVerdict: "verdict" {
        /// The server took it.
        Accepted = "accepted",
        /// Nobody executed it or can: a client sends it again by itself.
        Burned = "burned",
        /// At a server: its key was lost with an earlier life of it. The client concludes `burned` or `unknown`.
        Lost = "lost",
        /// It was accepted before.
        Used = "used",
        /// Nobody knows, or there was no answer.
        Unknown = "unknown",
    }
}

label! {
    /// What became of a dial.
    DialResult: "result" {
        /// It is connected.
        Connected = "connected",
        /// Nobody listens there.
        Refused = "refused",
        /// It took longer than it may.
        TimedOut = "timed_out",
        /// There is no way to it.
        Unreachable = "unreachable",
        /// The name has no address, or the Unix socket is not there.
        NotFound = "not_found",
        /// Anything else.
        Failed = "failed",
    }
}

label! {
    /// What became of a reload.
    ReloadResult: "result" {
        /// The new configuration is in use.
        Reloaded = "reloaded",
        /// The earlier configuration goes on.
        Failed = "failed",
    }
}

label! {
    /// What became of a spare connection.
    SpareEvent: "event" {
        /// It was made.
        Filled = "filled",
        /// It could not be made.
        FillFailed = "fill_failed",
        /// A program got it.
        Used = "used",
        /// A program came, and none was there.
        Missed = "missed",
        /// The server ended it, or it failed.
        Ended = "ended",
        /// It was older than it may be.
        Aged = "aged",
        /// A reload replaced the configuration that it was made with.
        Withdrawn = "withdrawn",
    }
}

impl HandshakeKind {
    /// Of a handshake that is complete.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        match facts.psk {
            None => Self::Full,
            Some(PskKind::Resumption) => Self::Resumed,
            Some(PskKind::ForwardSecret) => Self::ForwardSecret,
            Some(PskKind::External | PskKind::Imported) => Self::ExternalPsk,
        }
    }
}

impl EarlyDataVerdict {
    /// Of a client's early data when its handshake is complete or has failed; `None` if nothing was sent.
    #[must_use]
    pub fn of(outcome: EarlyDataOutcome) -> Option<Self> {
        let verdict = outcome.verdict.map_or(Self::Accepted, Self::from);
        (outcome.sent > 0).then_some(verdict)
    }

    /// Of what a server answered; `None` if nothing was offered, or nothing answered.
    #[must_use]
    pub fn answered(facts: &Facts) -> Option<Self> {
        match facts.early_data {
            EarlyDataStatus::Accepted => Some(Self::Accepted),
            EarlyDataStatus::Rejected(_) if facts.early_data_key_lost => Some(Self::Lost),
            EarlyDataStatus::Rejected(verdict) => Some(verdict.into()),
            _ => None,
        }
    }
}

impl From<Verdict> for EarlyDataVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Burned => Self::Burned,
            Verdict::Used => Self::Used,
            // What this version doesn't know is treated as that.
            _ => Self::Unknown,
        }
    }
}

impl DialResult {
    /// Of a dial that failed so.
    #[must_use]
    pub fn of(error: io::ErrorKind) -> Self {
        match error {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Self::Unreachable,
            io::ErrorKind::NotFound => Self::NotFound,
            _ => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use tessera_proxy::admin::Label;

    use super::*;

    fn check<L: Label>() {
        let mut names: Vec<_> = L::ALL.iter().map(|value| value.name()).collect();
        for (index, value) in L::ALL.iter().enumerate() {
            assert_eq!(value.index(), index);
            assert!(value.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), L::ALL.len(), "two values of {} have one name", L::KEY);
    }

    #[test]
    fn values_have_names_of_their_own_and_know_their_place() {
        check::<Role>();
        check::<Outcome>();
        check::<HandshakeKind>();
        check::<EarlyDataVerdict>();
        check::<DialResult>();
        check::<ReloadResult>();
        check::<SpareEvent>();
    }

    #[test]
    fn a_server_tells_a_lost_key_from_an_unknown_one() {
        let mut facts = Facts::default();
        assert_eq!(EarlyDataVerdict::answered(&facts), None);
        facts.early_data = EarlyDataStatus::Rejected(Verdict::Unknown);
        assert_eq!(EarlyDataVerdict::answered(&facts), Some(EarlyDataVerdict::Unknown));
        facts.early_data_key_lost = true;
        assert_eq!(EarlyDataVerdict::answered(&facts), Some(EarlyDataVerdict::Lost));
    }

    #[test]
    fn early_data_that_was_not_sent_has_no_verdict() {
        let of = |sent, verdict| {
            let mut outcome = EarlyDataOutcome::default();
            (outcome.sent, outcome.verdict) = (sent, verdict);
            EarlyDataVerdict::of(outcome)
        };
        assert_eq!(of(0, None), None);
        assert_eq!(of(8, None), Some(EarlyDataVerdict::Accepted));
        assert_eq!(of(8, Some(Verdict::Unknown)), Some(EarlyDataVerdict::Unknown));
        assert_eq!(of(8, Some(Verdict::Used)), Some(EarlyDataVerdict::Used));
    }
}
