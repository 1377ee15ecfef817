//! Why an exchange that this SEPP began led to no association.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

use super::messages::SecurityCapability;
use super::refusal::Refusal;
use super::transport::TransportError;

/// Why an exchange with a peer led to no association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No answer came.
    Transport(TransportError),
    /// The peer refused, with this status and an explanation.
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// The peer's explanation, shortened to a line.
        detail: String,
        /// The delay that it asked for.
        retry_after: Option<Duration>,
    },
    /// The peer's answer is malformed.
    Answer(String),
    /// The peer claims something that it may not.
    Claims(Refusal),
    /// The peer chose something other than TLS.
    Capability(SecurityCapability),
    /// The peer redirects to where this SEPP doesn't go.
    Redirection(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(error) => write!(f, "{error}"),
            Self::Refused { status, detail, .. } if detail.is_empty() => {
                write!(f, "the peer refused N32-c with {}, without a reason", status.as_u16())?;
                f.write_str(match *status {
                    StatusCode::MISDIRECTED_REQUEST => {
                        "; check that its `address` is that of its N32-c, and not of its N32-f"
                    }
                    _ => "; its log has the reason",
                })
            }
            Self::Refused { status, detail, .. } => {
                write!(f, "the peer refused N32-c with {}: {detail}", status.as_u16())
            }
            Self::Answer(reason) => write!(f, "the peer's answer is malformed: {reason}"),
            Self::Claims(refusal) => write!(f, "the peer's answer isn't accepted: {refusal}"),
            Self::Capability(chosen) => write!(f, "the peer chose {chosen}, which wasn't offered"),
            Self::Redirection(reason) => write!(f, "the peer redirects {reason}"),
        }
    }
}

impl Failure {
    /// Returns a word for metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Transport(_) => "transport",
            Self::Refused { .. } => "refused",
            Self::Answer(_) => "answer",
            Self::Claims(refusal) => refusal.rule.as_str(),
            Self::Capability(_) => "capability",
            Self::Redirection(_) => "redirection",
        }
    }
}
