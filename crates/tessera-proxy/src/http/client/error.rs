//! Errors of calls, and whether the server may have executed them.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tessera_tokio::EarlyDataOutcome;

use super::flight::{FlightHandle, Verdict};

/// Why a call has no response.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CallError {
    /// What went wrong.
    pub kind: CallErrorKind,
    /// Whether the server may have executed it.
    pub sent: Delivery,
    /// The server's verdict on the early data that carried the call; [`Verdict::Unknown`] without an answer. `None` if
    /// the call was not in early data, or the early data was accepted.
    pub verdict: Option<FlightVerdict>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallErrorKind {
    /// The request is invalid.
    InvalidRequest,
    /// The request's body could not be read completely.
    RequestBody,
    /// No address could be connected to.
    Unreachable,
    /// Too many calls are waiting.
    Busy,
    /// The pool was closed.
    Closed,
    /// The deadline is over.
    DeadlineExceeded,
    /// It [may not](super::Permission) be sent any more.
    Withdrawn,
    /// The server rejected the early data that carried the call, and may have executed it.
    EarlyDataRefused,
    /// The server reset the stream, with this error code (RFC 9113 §7).
    Reset(u32),
    /// The server can't upgrade: its connection speaks HTTP/2, or doesn't allow Extended CONNECT.
    NoUpgrade,
    /// The server switched protocols, but its response isn't valid for the protocol that was requested.
    InvalidSwitch,
    /// The connection ended.
    ConnectionLost,
}

/// How much of a call the server may have received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delivery {
    /// Nothing that it executes: resending can't execute the call twice.
    Nothing,
    /// All of it: the call may have been executed.
    Maybe,
}

/// A verdict, and the flight it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlightVerdict {
    /// What the client may conclude.
    pub verdict: Verdict,
    /// The flight's name, with which a later connection can ask for the receipt.
    pub flight: Option<FlightHandle>,
}

impl CallError {
    pub(super) fn new(kind: CallErrorKind, sent: Delivery) -> Self {
        Self { kind, sent, verdict: None, source: None }
    }

    /// Creates an error for a call of which nothing was sent.
    pub(super) fn unsent(kind: CallErrorKind) -> Self {
        Self::new(kind, Delivery::Nothing)
    }

    pub(super) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    pub(super) fn because_of(mut self, source: Option<Arc<dyn Error + Send + Sync>>) -> Self {
        self.source = source.or(self.source);
        self
    }

    /// Adds the outcome of the early data that carried the call.
    pub(super) fn in_flight(mut self, outcome: EarlyDataOutcome) -> Self {
        if let (Some(verdict), false) = (outcome.verdict, outcome.sent_again) {
            self.verdict = Some(FlightVerdict { verdict, flight: outcome.flight });
        }
        self
    }

    /// Adds that an earlier attempt may have executed the call.
    pub(super) fn after(mut self, earlier: Option<Self>) -> Self {
        if let Some(earlier) = earlier {
            self.sent = self.sent.max(earlier.sent);
            self.verdict = self.verdict.or(earlier.verdict);
        }
        self
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            CallErrorKind::InvalidRequest => f.write_str("the request can't be sent as it is")?,
            CallErrorKind::RequestBody => f.write_str("the request's body is incomplete")?,
            CallErrorKind::Unreachable => {
                f.write_str("no connection could be made to any address")?
            }
            CallErrorKind::Busy => f.write_str("too many calls are waiting")?,
            CallErrorKind::Closed => f.write_str("the pool was closed")?,
            CallErrorKind::DeadlineExceeded => f.write_str("the deadline has passed")?,
            CallErrorKind::Withdrawn => f.write_str("the request may not be sent any more")?,
            CallErrorKind::EarlyDataRefused => {
                f.write_str("the server did not accept the early data")?
            }
            CallErrorKind::Reset(code) => {
                write!(f, "the server reset the stream, error code {code}")?
            }
            CallErrorKind::NoUpgrade => f.write_str("the server's connection can't be upgraded")?,
            CallErrorKind::InvalidSwitch => {
                f.write_str("the server's answer to the upgrade is invalid")?
            }
            CallErrorKind::ConnectionLost => f.write_str("the connection ended")?,
        }
        if let Some(FlightVerdict { verdict, .. }) = self.verdict {
            write!(f, "; verdict {verdict:?}")?;
        }
        f.write_str(match self.sent {
            Delivery::Nothing => "; nothing was executed",
            Delivery::Maybe => "; it may have been executed",
        })?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
