//! How a connection ended: for the log and the metrics.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use tessera::handshake::EarlyDataStatus;
use tessera_kit::hex;
use tessera_proxy::dial::DialError;
use tessera_proxy::logging::{TRUSTED, tracing};
use tessera_proxy::proxy_protocol::HeaderError;
use tessera_proxy::socket::Peer;

use super::backend;
use super::carrier::Carrier;
use crate::metrics::{EarlyDataVerdict, HandshakeKind, Label, Outcome};
use crate::peers;

/// How a connection ended.
pub(super) enum ConnectionEnd {
    /// Both directions ended in order.
    InOrder,
    /// The required PROXY header was missing or invalid.
    NoHeader(HeaderError),
    /// A client behind a load balancer exceeded its limits.
    Refused,
    /// The TLS handshake failed.
    Handshake(io::Error),
    /// No backend could be reached.
    Unreachable(DialError),
    /// The connection to the client failed.
    Client(io::Error),
    /// The connection to the backend failed.
    Backend(io::Error),
    /// This end cut it because the process ends.
    Cut,
}

/// What is logged and counted about a connection.
pub(super) struct Story {
    /// `None` if the connection was refused.
    pub(super) outcome: Option<Outcome>,
    peer: Peer,
    duration: Duration,
    identity: Option<String>,
    kind: Option<HandshakeKind>,
    verdict: Option<EarlyDataVerdict>,
    flight: Option<String>,
    received: u64,
    sent: u64,
}

impl Story {
    pub(super) fn of(
        ended: &ConnectionEnd,
        peer: Peer,
        began: Instant,
        client: Option<&mut Carrier>,
    ) -> Self {
        let mut story = Self {
            outcome: None,
            peer,
            duration: began.elapsed(),
            identity: None,
            kind: None,
            verdict: None,
            flight: None,
            received: 0,
            sent: 0,
        };
        let mut withdrawn = false;
        if let Some(client) = client {
            let failed = client.tracker.end(&client.stream);
            let facts = client.stream.facts();
            // A replayed flight has a valid binder too: it proves nothing until the handshake is complete or the key is
            // taken.
            let is_proved = !failed || facts.early_data == EarlyDataStatus::Accepted;
            let identity = backend::identity(facts).filter(|_| is_proved);
            story.identity = identity.map(|blob| peers::identity(&blob));
            story.kind =
                Some(if failed { HandshakeKind::Failed } else { HandshakeKind::of(facts) });
            story.verdict = EarlyDataVerdict::answered(facts);
            story.flight = facts.flight.map(|flight| hex::encode(&flight.0));
            (story.received, story.sent) = (client.tracker.received, client.tracker.sent);
            withdrawn = client.tracker.is_withdrawn;
        }
        story.outcome = match ended {
            ConnectionEnd::NoHeader(_) | ConnectionEnd::Refused => None,
            ConnectionEnd::InOrder => Some(Outcome::Completed),
            ConnectionEnd::Handshake(_) => Some(Outcome::HandshakeFailed),
            ConnectionEnd::Unreachable(_) => Some(Outcome::Unreachable),
            ConnectionEnd::Cut => Some(Outcome::Cut),
            ConnectionEnd::Client(_) | ConnectionEnd::Backend(_) if withdrawn => Some(Outcome::Cut),
            ConnectionEnd::Client(error) | ConnectionEnd::Backend(error)
                if error.kind() == io::ErrorKind::TimedOut =>
            {
                Some(Outcome::TimedOut)
            }
            ConnectionEnd::Client(_) => Some(Outcome::PeerFailed),
            ConnectionEnd::Backend(_) => Some(Outcome::LocalFailed),
        };
        story
    }

    /// Whether to reset the backend, so that it doesn't take a truncated request for the whole.
    pub(super) fn resets_backend(&self) -> bool {
        self.outcome != Some(Outcome::Completed)
    }

    /// Writes the event. Only events of authenticated clients are exempt from the rate limit.
    pub(super) fn log(&self, tunnel: &str, ended: &ConnectionEnd) {
        let Self { peer, identity, verdict, flight, received, sent, .. } = self;
        let outcome = self.outcome.map_or("refused", Label::name);
        let handshake = self.kind.map(Label::name);
        let verdict = verdict.map(Label::name);
        let seconds = self.duration.as_secs_f64();
        let cause = ended.cause();
        macro_rules! tell {
            ($level:ident, $target:expr) => {
                tracing::$level!(
                    target: $target, tunnel, role = "server", client = %peer, identity, outcome, handshake, verdict,
                    flight, received, sent, seconds, cause, "{ended}"
                )
            };
        }
        match (ended, identity) {
            (ConnectionEnd::Unreachable(_) | ConnectionEnd::Backend(_), Some(_)) => {
                tell!(warn, TRUSTED)
            }
            (_, Some(_)) => tell!(info, TRUSTED),
            (ConnectionEnd::Unreachable(_) | ConnectionEnd::Backend(_), None) => {
                tell!(warn, module_path!())
            }
            (_, None) => tell!(info, module_path!()),
        }
    }
}

impl ConnectionEnd {
    fn cause(&self) -> Option<String> {
        match self {
            Self::InOrder | Self::Cut | Self::Refused => None,
            Self::NoHeader(error) => Some(error.to_string()),
            Self::Unreachable(error) => Some(error.to_string()),
            Self::Handshake(error) | Self::Client(error) | Self::Backend(error) => {
                Some(error.to_string())
            }
        }
    }
}

/// Describes what happened, in a sentence.
impl fmt::Display for ConnectionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InOrder => "the connection ended cleanly",
            Self::NoHeader(_) => "no PROXY header arrived where one is required",
            Self::Refused => "the client's address has reached its limit of connections",
            Self::Handshake(_) => "the TLS handshake with the client failed",
            Self::Unreachable(_) => "the backend can't be reached; nothing was sent to it",
            Self::Client(_) => "the connection with the client failed",
            Self::Backend(_) => "the connection with the backend failed",
            Self::Cut => "the connection was cut: the process ends",
        })
    }
}
