//! Labels and their values.

use std::io;

use tessera::Facts;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{PskKind, Verdict};
use tessera_proxy::label;
use tessera_tokio::EarlyDataOutcome;

label! {
    /// The role of an end.
    Role: "role" {
        /// Accepts local programs, and connects to the server over TLS.
        Client = "client",
        /// Accepts TLS, and connects to the backend.
        Server = "server",
    }
}

label! {
    /// How a connection ended.
    Outcome: "outcome" {
        /// Both directions ended in order.
        Completed = "completed",
        /// The next hop, the server or the backend, could not be reached. Nothing was sent.
        Unreachable = "unreachable",
        /// The TLS handshake failed, and no early data was sent.
        HandshakeFailed = "handshake_failed",
        /// At a client: early data may have been executed, so nothing is sent again. The local connection was reset.
        ResetByVerdict = "reset_by_verdict",
        /// The local side (client: the program; server: the backend) failed after the handshake.
        LocalFailed = "local_failed",
        /// The connection between client and server failed after the handshake.
        PeerFailed = "peer_failed",
        /// Nothing moved for too long, or a side didn't read for too long.
        TimedOut = "timed_out",
        /// Cut because the process ends, or because a reload withdrew what it relies on.
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
    /// The fate of a flight with early data.
    EarlyDataVerdict: "verdict" {
        /// The server accepted it.
        Accepted = "accepted",
        /// It was not executed and can't be any more: the client sends it again by itself.
        Burned = "burned",
        /// At a server: its key was lost with an earlier state of the server. The client concludes `burned` or
        /// `unknown`.
        Lost = "lost",
        /// It was accepted before.
        Used = "used",
        /// Its fate is unknown, or there was no answer.
        Unknown = "unknown",
    }
}

label! {
    /// The result of a dial.
    DialResult: "result" {
        /// The connection was made.
        Connected = "connected",
        /// The port is closed.
        Refused = "refused",
        /// It exceeded its time limit.
        TimedOut = "timed_out",
        /// There is no route.
        Unreachable = "unreachable",
        /// The name has no address, or the Unix socket does not exist.
        NotFound = "not_found",
        /// Anything else.
        Failed = "failed",
    }
}

label! {
    /// The result of a reload.
    ReloadResult: "result" {
        /// The new configuration is in use.
        Reloaded = "reloaded",
        /// The earlier configuration stays in use.
        Failed = "failed",
    }
}

label! {
    /// What happened to a spare connection.
    SpareEvent: "event" {
        /// It was made.
        Filled = "filled",
        /// It could not be made.
        FillFailed = "fill_failed",
        /// A program took it.
        Used = "used",
        /// A program connected, and there was no spare.
        Missed = "missed",
        /// The server ended it, or it failed.
        Ended = "ended",
        /// It exceeded its maximum age.
        Aged = "aged",
        /// A reload replaced the configuration that it was made with.
        Withdrawn = "withdrawn",
    }
}

impl HandshakeKind {
    /// Returns the kind of a completed handshake.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        match facts.psk {
            None | Some(PskKind::KnownKey) => Self::Full,
            Some(PskKind::Resumption) => Self::Resumed,
            Some(PskKind::ForwardSecret) => Self::ForwardSecret,
            Some(PskKind::External | PskKind::Imported) => Self::ExternalPsk,
        }
    }
}

impl EarlyDataVerdict {
    /// Returns the verdict on a client's early data once its handshake completed or failed; `None` if none was sent.
    #[must_use]
    pub fn of(outcome: EarlyDataOutcome) -> Option<Self> {
        let verdict = outcome.verdict.map_or(Self::Accepted, Self::from);
        (outcome.sent > 0).then_some(verdict)
    }

    /// Returns a server's answer to early data; `None` if none was offered or answered.
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
            // A status that this version doesn't know.
            _ => Self::Unknown,
        }
    }
}

impl DialResult {
    /// Returns the label of a failed dial.
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
    fn a_server_distinguishes_a_lost_key_from_an_unknown_one() {
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
