//! What became of a connection: for the log, the metrics, and the program at the local end.

use std::fmt;
use std::io;

use tessera::resume::{FlightHandle, Verdict};
use tessera_kit::hex;
use tessera_tokio::{EarlyDataOutcome, FirstFlightError, FirstFlightFailure};

use crate::metrics::{EarlyDataVerdict, Label, Outcome};

/// How a connection came to its end.
#[derive(Debug)]
pub enum Ended {
    /// Both directions ended in order.
    InOrder,
    /// There is no connection to the server.
    Unreachable(io::Error),
    /// The connection to the server failed, or did not come about.
    Server(io::Error),
    /// The connection to the program failed.
    Local(io::Error),
    /// This end ended it, because the process ends.
    Cut,
}

impl Ended {
    /// As an error.
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Self::Unreachable(error) | Self::Server(error) | Self::Local(error) => error,
            Self::InOrder | Self::Cut => io::ErrorKind::ConnectionAborted.into(),
        }
    }
}

/// What is known of the connection to the server at its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerState {
    /// Whether the handshake was complete.
    pub handshake_complete: bool,
    /// What became of early data.
    pub early_data: EarlyDataOutcome,
}

/// What became of a connection, and what to do about it.
#[derive(Debug)]
pub struct Judgement {
    /// As it is counted.
    pub outcome: Outcome,
    /// The verdict on early data, if any left.
    pub verdict: Option<EarlyDataVerdict>,
    /// The name of the flight whose fate its program has to find out.
    ///
    /// Whoever knows the name of a flight, and is a client of this server, can have its key burned. For such a flight
    /// that is no harm: it can't be executed later then.
    pub flight: Option<FlightHandle>,
    /// What went wrong.
    pub cause: Option<io::Error>,
}

impl Judgement {
    /// Judges.
    ///
    /// A connection that fails when early data may have been executed has the outcome
    /// [`ResetByVerdict`](Outcome::ResetByVerdict), whatever failed: its program must not take it for one that never
    /// was.
    pub fn of(ended: Ended, server: ServerState) -> Self {
        let early = server.early_data;
        let verdict = EarlyDataVerdict::of(early);
        let is_open = matches!(early.verdict, Some(verdict) if verdict != Verdict::Burned);
        let outcome = match &ended {
            Ended::InOrder => Outcome::Completed,
            Ended::Unreachable(_) => Outcome::Unreachable,
            Ended::Cut if is_open => Outcome::ResetByVerdict,
            Ended::Cut => Outcome::Cut,
            Ended::Local(error) => match error.kind() {
                _ if is_open => Outcome::ResetByVerdict,
                io::ErrorKind::TimedOut => Outcome::TimedOut,
                _ => Outcome::LocalFailed,
            },
            Ended::Server(error) => match FirstFlightError::of(error) {
                // With the verdict burned too: what the program said is in the wrong protocol.
                Some(error) if early.sent > 0 && is_final(error) => Outcome::ResetByVerdict,
                _ if is_open => Outcome::ResetByVerdict,
                _ if !server.handshake_complete => Outcome::HandshakeFailed,
                _ if error.kind() == io::ErrorKind::TimedOut => Outcome::TimedOut,
                _ => Outcome::PeerFailed,
            },
        };
        let flight = early.flight.filter(|_| outcome == Outcome::ResetByVerdict);
        let cause = match ended {
            Ended::InOrder | Ended::Cut => None,
            Ended::Unreachable(error) | Ended::Server(error) | Ended::Local(error) => Some(error),
        };
        Self { outcome, verdict, flight, cause }
    }

    /// Whether the local connection is reset: its program is not to take what it got for the whole, nor the
    /// connection for one that was refused.
    #[must_use]
    pub fn resets_local(&self) -> bool {
        self.outcome != Outcome::Completed
    }

    /// What happened, in a sentence.
    #[must_use]
    pub fn what(&self) -> &'static str {
        use EarlyDataVerdict::{Burned, Used};
        match (self.outcome, self.verdict) {
            (Outcome::Completed, _) => "the connection ended in order",
            (Outcome::Unreachable, _) => "the server can't be reached; nothing was sent",
            (Outcome::HandshakeFailed, _) => {
                "the TLS handshake with the server failed; nothing that the program sent was sent on"
            }
            (Outcome::ResetByVerdict, Some(Used)) => {
                "the server had accepted this flight before; what the program sent first may have \
                 been executed, and is not sent again"
            }
            (Outcome::ResetByVerdict, Some(Burned)) => {
                "the server chose another application protocol; nothing that the program sent was \
                 executed"
            }
            (Outcome::ResetByVerdict, _) => {
                "nobody knows whether what the program sent first was executed; it is not sent again"
            }
            (Outcome::LocalFailed, _) => "the connection to the program failed",
            (Outcome::PeerFailed, _) => "the connection to the server failed",
            (Outcome::TimedOut, _) => {
                "nothing was moved, or read, for longer than the limits allow"
            }
            (Outcome::Cut, _) => "the connection was ended since the process ends",
        }
    }

    /// What to do; `None` if there is nothing.
    #[must_use]
    pub fn what_to_do(&self) -> Option<&'static str> {
        use EarlyDataVerdict::{Burned, Used};
        match (self.outcome, self.verdict) {
            (Outcome::Unreachable, _) => Some(
                "check that the server end runs and that its address in `connect` is right; the \
                 program may connect again",
            ),
            (Outcome::HandshakeFailed, _) => Some(
                "check the certificates, the `peers` and the versions of both ends; the program may \
                 connect again",
            ),
            (Outcome::ResetByVerdict, Some(Burned)) => Some("the program may connect again"),
            (Outcome::ResetByVerdict, Some(Used)) => Some(
                "look at the backend, by the flight's name if it keeps such, for what was executed \
                 before the program sends it again; where this comes often, somebody repeats \
                 flights on the way",
            ),
            (Outcome::ResetByVerdict, _) => Some(
                "look at the backend, by the flight's name if it keeps such, for what was executed \
                 before the program sends it again; what may be executed twice may just be sent \
                 again",
            ),
            _ => None,
        }
    }

    /// Writes the event: a warning where somebody has something to do.
    pub fn log(&self, tunnel: &str, client: &dyn fmt::Display) {
        let outcome = self.outcome.name();
        let verdict = self.verdict.map(Label::name);
        let flight = self.flight.map(|flight| hex::encode(&flight.0));
        let cause = self.cause.as_ref().map(|error| Causes(error).to_string());
        let (what, todo) = (self.what(), self.what_to_do());
        match todo {
            Some(_) => tracing::warn!(
                tunnel, role = "client", %client, outcome, verdict, flight, cause, todo, "{what}"
            ),
            None => tracing::info!(
                tunnel, role = "client", %client, outcome, verdict, cause, "{what}"
            ),
        }
    }
}

/// Whether the stream goes on with neither the handshake nor the data.
fn is_final(error: &FirstFlightError) -> bool {
    matches!(
        error.reason(),
        FirstFlightFailure::Rejected | FirstFlightFailure::OtherProtocol { .. }
    )
}

/// An error with what is behind it.
struct Causes<'e>(&'e (dyn std::error::Error + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.0.to_string();
        f.write_str(&last)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let text = error.to_string();
            // Many errors say what their source says.
            if !last.contains(&text) {
                write!(f, ": {text}")?;
            }
            (last, next) = (text, error.source());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn early(verdict: Option<Verdict>) -> ServerState {
        let mut early_data = EarlyDataOutcome::default();
        (early_data.sent, early_data.verdict) = (8, verdict);
        early_data.flight = Some(FlightHandle([7; 32]));
        ServerState { handshake_complete: true, early_data }
    }

    fn judge(ended: fn(io::Error) -> Ended, kind: io::ErrorKind, server: ServerState) -> Judgement {
        Judgement::of(ended(kind.into()), server)
    }

    #[test]
    fn a_connection_that_ends_in_order_is_not_reset_whatever_became_of_early_data() {
        use EarlyDataVerdict::{Accepted, Burned};
        for (told, verdict) in [(None, Accepted), (Some(Verdict::Burned), Burned)] {
            let judged = Judgement::of(Ended::InOrder, early(told));
            assert_eq!((judged.outcome, judged.verdict), (Outcome::Completed, Some(verdict)));
            assert!(!judged.resets_local());
            assert!(judged.flight.is_none() && judged.what_to_do().is_none());
        }
    }

    #[test]
    fn what_may_have_been_executed_is_named_whoever_failed() {
        for verdict in [Verdict::Used, Verdict::Unknown] {
            for ended in [Ended::Server, Ended::Local] {
                let judged = judge(ended, io::ErrorKind::ConnectionReset, early(Some(verdict)));
                assert_eq!(judged.outcome, Outcome::ResetByVerdict);
                assert_eq!(judged.flight, Some(FlightHandle([7; 32])));
                assert!(judged.resets_local());
                assert!(judged.what_to_do().unwrap().contains("flight's name"));
            }
        }
        let used = judge(Ended::Server, io::ErrorKind::Other, early(Some(Verdict::Used)));
        let unknown = judge(Ended::Server, io::ErrorKind::Other, early(Some(Verdict::Unknown)));
        assert_ne!(used.what(), unknown.what());
        assert_ne!(used.what_to_do(), unknown.what_to_do());
    }

    /// No answer is `unknown`, and so is an answer that isn't proven.
    #[test]
    fn a_connection_that_fails_before_the_answer_may_have_been_executed() {
        let server = ServerState { handshake_complete: false, ..early(Some(Verdict::Unknown)) };
        let judged = judge(Ended::Server, io::ErrorKind::ConnectionReset, server);
        assert_eq!(judged.outcome, Outcome::ResetByVerdict);
        assert_eq!(judged.verdict, Some(EarlyDataVerdict::Unknown));
    }

    #[test]
    fn failures_without_early_data_are_counted_apart_and_reset_too() {
        let nothing = ServerState::default();
        let complete = ServerState { handshake_complete: true, ..nothing };
        let accepted = early(None);
        use io::ErrorKind::{ConnectionReset, TimedOut};
        for (judged, outcome) in [
            (judge(Ended::Unreachable, ConnectionReset, nothing), Outcome::Unreachable),
            (judge(Ended::Server, ConnectionReset, nothing), Outcome::HandshakeFailed),
            (judge(Ended::Server, TimedOut, nothing), Outcome::HandshakeFailed),
            (judge(Ended::Server, ConnectionReset, complete), Outcome::PeerFailed),
            (judge(Ended::Server, ConnectionReset, accepted), Outcome::PeerFailed),
            (judge(Ended::Server, TimedOut, complete), Outcome::TimedOut),
            (judge(Ended::Local, ConnectionReset, complete), Outcome::LocalFailed),
            (judge(Ended::Local, TimedOut, accepted), Outcome::TimedOut),
        ] {
            assert_eq!(judged.outcome, outcome);
            assert!(judged.flight.is_none());
            assert!(judged.resets_local());
        }
    }

    #[test]
    fn the_causes_of_an_error_stand_once() {
        let inner = io::Error::other("the name has no address");
        let outer = io::Error::other(Outer(inner));
        assert_eq!(Causes(&outer).to_string(), "no connection: the name has no address");
    }

    #[derive(Debug)]
    struct Outer(io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("no connection")
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
}
