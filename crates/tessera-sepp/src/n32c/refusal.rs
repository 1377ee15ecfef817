//! Why a peer's claims aren't accepted.

use std::fmt;

use http::StatusCode;

use crate::mask::MaskedText;
use crate::n32c::messages::{Cause, ProblemDetails};
use crate::names::PlmnSet;

/// Why a peer's claims aren't accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The rule that was broken.
    pub rule: Rule,
    /// A sentence that reveals nothing internal.
    pub detail: &'static str,
    /// The member at fault, as a JSON pointer.
    pub pointer: Option<String>,
    /// The claimed value, for the log.
    pub claimed: Option<String>,
    /// The allowed values, for the log.
    pub allowed: Option<String>,
}

/// The rules that messages of a peer must obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The request must be an operation of N32-c: a POST of JSON to one of its paths, not too long.
    Operation,
    /// The certificate must belong to a configured peer.
    UnknownPeer,
    /// `sender`, a name in the certificate, and the configured peer must be the same.
    Sender,
    /// The certificate must be under the peer's trust anchor.
    Anchor,
    /// A peer only represents networks of its certificate, its anchor and its configuration.
    Plmn,
    /// A peer must target a network that this SEPP serves.
    TargetPlmn,
    /// At least one purpose must be agreed.
    Purpose,
    /// N32-f must be at a name of the peer, and at valid ports.
    N32fAddress,
    /// At least one capability must be common.
    Capability,
    /// PRINS must be offered.
    Prins,
    /// If TLS was chosen, there are no parameters to exchange.
    Params,
    /// The context must exist.
    Context,
    /// The answer must belong to the request.
    HandshakeId,
    /// A peer can't restart an association that was ended here.
    Ended,
    /// The message must be well-formed.
    Malformed,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 15] = [
        Self::Operation,
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

    /// Returns its name in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operation => "operation",
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

    /// Returns the status of the refusal.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TargetPlmn | Self::HandshakeId | Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Params => StatusCode::CONFLICT,
            Self::Operation | Self::Context => StatusCode::NOT_FOUND,
            Self::Capability | Self::Prins => StatusCode::NOT_IMPLEMENTED,
            Self::Ended => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::FORBIDDEN,
        }
    }

    /// Returns the cause in the refusal, if there is one.
    pub fn cause(self) -> Option<Cause> {
        Some(match self {
            Self::Operation => Cause::ResourceUriStructureNotFound,
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
        // A claim may be of any length. It is masked first: of a number cut short more would remain.
        let masked = MaskedText(&claimed.to_string()).to_string();
        self.claimed = Some(masked.chars().take(400).collect());
        self
    }

    pub(super) fn allowing(mut self, allowed: &PlmnSet) -> Self {
        self.allowed = Some(allowed.to_string());
        self
    }

    /// Returns the refusal as an answer.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_shows_no_subscriber_and_no_unseen_letter() {
        let refusal = Refusal::new(Rule::Purpose, "").claiming("A\u{202e}\n imsi-208930000000001");
        assert_eq!(refusal.claimed.unwrap(), "A imsi-20893**********");
        let cut = format!("{} imsi-208930000000001", "A".repeat(387));
        let refusal = Refusal::new(Rule::Purpose, "").claiming(cut);
        assert!(!refusal.claimed.unwrap().contains("2089300"));
    }
}
