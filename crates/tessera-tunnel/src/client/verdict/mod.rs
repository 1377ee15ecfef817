//! The fate of a connection: for the log, the metrics, and the local program.

use std::fmt;
use std::io;

use tessera::Error;
use tessera::resume::{FlightHandle, Verdict};
use tessera::wire::AlertDescription;
use tessera_kit::hex;
use tessera_proxy::logging::{TRUSTED, tracing};
use tessera_tokio::EarlyDataOutcome;

use crate::metrics::{EarlyDataVerdict, HandshakeKind, Label, Outcome};

/// How a connection ended.
#[derive(Debug)]
pub enum ConnectionEnd {
    /// Both directions ended in order.
    InOrder,
    /// No connection to the server could be made.
    Unreachable(io::Error),
    /// The connection to the server failed, before or after its handshake.
    Server(io::Error),
    /// The connection to the program failed.
    Local(io::Error),
    /// This end cut it because the process ends.
    Cut,
}

impl ConnectionEnd {
    /// Converts it to an error.
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Self::Unreachable(error) | Self::Server(error) | Self::Local(error) => error,
            Self::InOrder | Self::Cut => io::ErrorKind::ConnectionAborted.into(),
        }
    }
}

/// What is known about the connection to the server at its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerState {
    /// How the handshake authenticated; `None` if it didn't complete.
    pub handshake: Option<HandshakeKind>,
    /// The outcome of early data.
    pub early_data: EarlyDataOutcome,
    /// A reload withdrew the trust in the server.
    pub is_withdrawn: bool,
}

/// The fate of a connection, and what to do about it.
#[derive(Debug)]
pub struct Judgement {
    /// The outcome as counted in the metrics.
    pub outcome: Outcome,
    /// How the handshake with the server authenticated; `None` if it didn't complete.
    pub handshake: Option<HandshakeKind>,
    /// The verdict on early data, if any was sent.
    pub verdict: Option<EarlyDataVerdict>,
    /// The name of the flight whose fate the program must find out.
    ///
    /// A client of this server that knows the name can have the flight's key burned. That does no harm here: it only
    /// keeps the flight from being executed later.
    pub flight: Option<FlightHandle>,
    /// The error.
    pub cause: Option<io::Error>,
}

impl Judgement {
    /// Judges how a connection ended.
    ///
    /// If early data may have been executed, the outcome of a failure is [`ResetByVerdict`](Outcome::ResetByVerdict),
    /// whatever failed: the program must not mistake it for a connection that never was.
    pub fn of(ended: ConnectionEnd, server: ServerState) -> Self {
        let early = server.early_data;
        let verdict = EarlyDataVerdict::of(early);
        let is_open = matches!(early.verdict, Some(verdict) if verdict != Verdict::Burned);
        let outcome = match &ended {
            ConnectionEnd::InOrder => Outcome::Completed,
            ConnectionEnd::Unreachable(_) => Outcome::Unreachable,
            ConnectionEnd::Cut if is_open => Outcome::ResetByVerdict,
            ConnectionEnd::Cut => Outcome::Cut,
            ConnectionEnd::Local(error) => match error.kind() {
                _ if is_open => Outcome::ResetByVerdict,
                io::ErrorKind::TimedOut => Outcome::TimedOut,
                _ => Outcome::LocalFailed,
            },
            ConnectionEnd::Server(_) if is_open => Outcome::ResetByVerdict,
            ConnectionEnd::Server(_) if server.is_withdrawn => Outcome::Cut,
            ConnectionEnd::Server(_) if server.handshake.is_none() => Outcome::HandshakeFailed,
            ConnectionEnd::Server(error) if error.kind() == io::ErrorKind::TimedOut => {
                Outcome::TimedOut
            }
            ConnectionEnd::Server(_) => Outcome::PeerFailed,
        };
        let flight = early.flight.filter(|_| outcome == Outcome::ResetByVerdict);
        let cause = match ended {
            ConnectionEnd::InOrder | ConnectionEnd::Cut => None,
            ConnectionEnd::Unreachable(error)
            | ConnectionEnd::Server(error)
            | ConnectionEnd::Local(error) => Some(error),
        };
        Self { outcome, handshake: server.handshake, verdict, flight, cause }
    }

    /// Whether to reset the local connection, so that the program takes neither a truncated answer for the whole, nor
    /// the connection for a refused one.
    #[must_use]
    pub fn resets_local(&self) -> bool {
        self.outcome != Outcome::Completed
    }

    /// Returns what happened, in a sentence.
    #[must_use]
    pub fn what(&self) -> &'static str {
        use EarlyDataVerdict::Used;
        match (self.outcome, self.verdict) {
            (Outcome::Completed, _) => "the connection ended cleanly",
            (Outcome::Unreachable, _) => "the server can't be reached; nothing was sent",
            (Outcome::HandshakeFailed, _) => {
                "the TLS handshake with the server failed; none of the program's data was sent"
            }
            (Outcome::ResetByVerdict, Some(Used)) => {
                "the server had accepted this flight before; the program's first data may have been executed, and is \
                 not sent again"
            }
            (Outcome::ResetByVerdict, _) => {
                "it is unknown whether the program's first data was executed; it is not sent again"
            }
            (Outcome::LocalFailed, _) => "the connection to the program failed",
            (Outcome::PeerFailed, _) if self.refuses_this_end() => "the server refuses this end",
            (Outcome::PeerFailed, _) => "the connection to the server failed",
            (Outcome::TimedOut, _) => {
                "no data was moved, or read, for longer than the limits allow"
            }
            (Outcome::Cut, _) if self.cause.is_some() => {
                "the connection was cut: a reload withdrew the trust in the server"
            }
            (Outcome::Cut, _) => "the connection was cut: the process ends",
        }
    }

    /// Whether the server rejects this end's identity. Its alert arrives after the handshake, which completes here
    /// before the server has verified the certificate (RFC 8446 §2).
    fn refuses_this_end(&self) -> bool {
        let Some(Error::AlertReceived(alert)) = self.error() else { return false };
        [
            AlertDescription::BAD_CERTIFICATE,
            AlertDescription::UNSUPPORTED_CERTIFICATE,
            AlertDescription::CERTIFICATE_REVOKED,
            AlertDescription::CERTIFICATE_EXPIRED,
            AlertDescription::CERTIFICATE_UNKNOWN,
            AlertDescription::UNKNOWN_CA,
            AlertDescription::ACCESS_DENIED,
            AlertDescription::CERTIFICATE_REQUIRED,
        ]
        .contains(alert)
    }

    /// Returns the engine's error.
    fn error(&self) -> Option<&Error> {
        self.cause.as_ref()?.get_ref()?.downcast_ref()
    }

    /// Whether the connection ended without an alert.
    fn was_cut(&self) -> bool {
        let is_reset = |cause: &io::Error| cause.kind() == io::ErrorKind::ConnectionReset;
        matches!(self.error(), Some(Error::Truncated)) || self.cause.as_ref().is_some_and(is_reset)
    }

    /// Whether the first bytes of the server were no TLS.
    fn is_not_tls(&self) -> bool {
        matches!(self.error(), Some(Error::Protocol { reason: "not a TLS record", .. }))
    }

    /// Whether the server's certificate is good, but for other names.
    fn has_other_names(&self) -> bool {
        let Some(Error::PeerRejected(rejected)) = self.error() else { return false };
        rejected.reason.contains("it is for other names")
    }

    /// Returns what to do; `None` if nothing.
    #[must_use]
    pub fn what_to_do(&self) -> Option<&'static str> {
        use EarlyDataVerdict::Used;
        match (self.outcome, self.verdict) {
            (Outcome::Unreachable, _) => Some(
                "check that the server end runs and that its address in `connect` is right; the \
                 program may connect again",
            ),
            (Outcome::HandshakeFailed, _) if self.is_not_tls() => Some(
                "nothing at this address speaks TLS: check that `connect` names a server end, and not its backend",
            ),
            (Outcome::HandshakeFailed, _) if self.has_other_names() => Some(
                "set `server-name`, or `names` of the `peers`, to a name in the certificate, which `cause` lists, or \
                 check `connect`",
            ),
            (Outcome::HandshakeFailed, _) => Some(
                "check the certificates, the `peers` and the versions of both ends; the program may \
                 connect again",
            ),
            (Outcome::PeerFailed, _) if self.refuses_this_end() => Some(
                "check this end's `certificate` or PSK, and the `peers` of the server: its log shows what it refuses; \
                 until then every connection fails",
            ),
            (Outcome::PeerFailed, _) if self.was_cut() => Some(
                "the server end, or the network, cut the connection: the log of the server end has the reason (is its \
                 backend down?)",
            ),
            (Outcome::ResetByVerdict, Some(Used)) => Some(
                "check at the backend what was executed, by the flight's name if it records these, before the program \
                 sends it again; if this happens often, an attacker on the path replays flights",
            ),
            (Outcome::ResetByVerdict, _) => Some(
                "check at the backend what was executed, by the flight's name if it records these, before the program \
                 sends it again; requests that may be executed twice can simply be sent again",
            ),
            _ => None,
        }
    }

    /// Writes the event: a warning if the operator must act. Verdicts are never rate-limited.
    pub fn log(&self, tunnel: &str, client: &dyn fmt::Display) {
        let (outcome, what) = (self.outcome.name(), self.what());
        let handshake = self.handshake.map(Label::name);
        let verdict = self.verdict.map(Label::name);
        let cause = self.cause.as_ref().map(|error| Causes(error).to_string());
        let Some(what_to_do) = self.what_to_do() else {
            tracing::info!(
                tunnel, role = "client", %client, outcome, handshake, verdict, cause, "{what}"
            );
            return;
        };
        if self.outcome == Outcome::ResetByVerdict {
            let flight = self.flight.map(|flight| hex::encode(&flight.0));
            tracing::warn!(
                target: TRUSTED, tunnel, role = "client", %client, outcome, handshake, verdict, flight, cause,
                what_to_do, "{what}"
            );
        } else {
            tracing::warn!(
                tunnel, role = "client", %client, outcome, handshake, verdict, cause, what_to_do, "{what}"
            );
        }
    }
}

/// Displays an error with its sources.
struct Causes<'e>(&'e (dyn std::error::Error + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.0.to_string();
        f.write_str(&last)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            let text = error.to_string();
            // Many errors repeat their source's text.
            if !last.contains(&text) {
                write!(f, ": {text}")?;
            }
            (last, next) = (text, error.source());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
