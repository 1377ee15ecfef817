//! Why what a peer says isn't accepted.

use std::fmt;

use http::StatusCode;

use crate::n32c::messages::{Cause, ProblemDetails};
use crate::names::PlmnSet;

/// Why what a peer says isn't accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What it is against.
    pub rule: Rule,
    /// A sentence that names nothing of the inside.
    pub detail: &'static str,
    /// The member at fault, as a JSON pointer.
    pub pointer: Option<String>,
    /// What was claimed, for the log.
    pub claimed: Option<String>,
    /// What is allowed, for the log.
    pub allowed: Option<String>,
}

/// What a refused message is against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The certificate is of no configured peer.
    UnknownPeer,
    /// `sender` is the certificate's name is the configured peer.
    Sender,
    /// The certificate is of the peer's trust anchor.
    Anchor,
    /// A peer speaks for networks of its certificate, its anchor and its configuration.
    Plmn,
    /// A peer talks to a network that this SEPP serves.
    TargetPlmn,
    /// One purpose at least is agreed.
    Purpose,
    /// N32-f is at a name of the peer, and at ports that there are.
    N32fAddress,
    /// One capability at least is common.
    Capability,
    /// PRINS is offered.
    Prins,
    /// There are no parameters to exchange where TLS was chosen.
    Params,
    /// The context exists.
    Context,
    /// The answer belongs to the request.
    HandshakeId,
    /// An association that was ended here isn't begun from outside.
    Ended,
    /// The message is one.
    Malformed,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::UnknownPeer,
        Self::Sender,
        Self::Anchor,
        Self::Plmn,
        Self::TargetPlmn,
        Self::Purpose,
        Self::N32fAddress,
        Self::Capability,
        Self::Prins,
        Self::Params,
        Self::Context,
        Self::HandshakeId,
        Self::Ended,
        Self::Malformed,
    ];

    /// Its name in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownPeer => "unknown-peer",
            Self::Sender => "sender",
            Self::Anchor => "anchor",
            Self::Plmn => "plmn",
            Self::TargetPlmn => "target-plmn",
            Self::Purpose => "purpose",
            Self::N32fAddress => "n32f-address",
            Self::Capability => "capability",
            Self::Prins => "prins",
            Self::Params => "params",
            Self::Context => "context",
            Self::HandshakeId => "handshake-id",
            Self::Ended => "ended",
            Self::Malformed => "malformed",
        }
    }

    /// The status of the answer to it.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TargetPlmn | Self::HandshakeId | Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Params => StatusCode::CONFLICT,
            Self::Context => StatusCode::NOT_FOUND,
            Self::Capability | Self::Prins => StatusCode::NOT_IMPLEMENTED,
            Self::Ended => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::FORBIDDEN,
        }
    }

    /// The cause in that, if there is one.
    pub fn cause(self) -> Option<Cause> {
        Some(match self {
            Self::Sender => Cause::MandatoryIeIncorrect,
            Self::TargetPlmn | Self::N32fAddress | Self::HandshakeId => Cause::OptionalIeIncorrect,
            Self::Plmn => Cause::PlmnIdNotAllowed,
            Self::Purpose => Cause::RequestedPurposeNotAllowed,
            Self::Params | Self::Capability => Cause::RequestedParamMismatch,
            Self::Context => Cause::ContextNotFound,
            Self::Malformed => Cause::InvalidMsgFormat,
            Self::UnknownPeer | Self::Anchor | Self::Prins | Self::Ended => return None,
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Refusal {
    pub(crate) fn new(rule: Rule, detail: &'static str) -> Self {
        Self { rule, detail, pointer: None, claimed: None, allowed: None }
    }

    pub(crate) fn at(mut self, pointer: &str) -> Self {
        self.pointer = Some(pointer.to_owned());
        self
    }

    pub(crate) fn claiming(mut self, claimed: impl fmt::Display) -> Self {
        // A peer says what it likes, at any length.
        self.claimed = Some(claimed.to_string().chars().take(400).collect());
        self
    }

    pub(super) fn allowing(mut self, allowed: &PlmnSet) -> Self {
        self.allowed = Some(allowed.to_string());
        self
    }

    /// The answer to it.
    pub fn to_problem(&self) -> ProblemDetails {
        let mut problem = ProblemDetails::new(self.rule.status());
        problem.cause = self.rule.cause();
        match &self.pointer {
            Some(pointer) => problem.with_invalid_param(pointer.as_str(), self.detail),
            None => problem.with_detail(self.detail),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}
