//! Errors: what went wrong, which alert says so, and what to do about it.

use core::fmt;

use crate::auth::PeerRejected;
use crate::crypto::{AgreementError, RandomFailed};
use crate::wire::AlertDescription;

/// Why a connection ended. Every error is final for its connection, except where a method says that
/// it only refused a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer broke the protocol, or asked for what this side does not have.
    Protocol {
        /// The alert that was sent.
        alert: AlertDescription,
        /// What was wrong, in words.
        reason: &'static str,
    },
    /// The peer ended the connection with this alert.
    AlertReceived(AlertDescription),
    /// The peer's certificate was not accepted.
    PeerRejected(PeerRejected),
    /// The stream ended without close_notify: data may be missing.
    Truncated,
    /// The handshake took longer than the configuration allows.
    TimedOut,
    /// This side's cryptography failed.
    Provider(&'static str),
    /// A state that can't be: a mistake in this library. Please report it, with the text.
    Internal(&'static str),
    /// The configuration can't work; the text says which part and what would be right.
    Configuration(&'static str),
    /// A call that the connection's state doesn't allow; the connection goes on.
    Misuse(&'static str),
}

impl Error {
    /// The alert that tells the peer about this error, if the peer is to be told.
    pub fn alert(&self) -> Option<AlertDescription> {
        match self {
            Self::Protocol { alert, .. } => Some(*alert),
            Self::PeerRejected(rejected) => Some(rejected.alert),
            Self::Provider(_) | Self::Internal(_) | Self::Configuration(_) => {
                Some(AlertDescription::INTERNAL_ERROR)
            }
            Self::AlertReceived(_) | Self::Truncated | Self::TimedOut | Self::Misuse(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol { alert, reason } => write!(f, "{reason} (alert {alert:?})"),
            Self::AlertReceived(alert) => write!(f, "the peer ended the connection: {alert:?}"),
            Self::PeerRejected(rejected) => {
                write!(f, "the peer is not accepted: {} ({:?})", rejected.reason, rejected.alert)
            }
            Self::TimedOut => f.write_str("the handshake took too long"),
            Self::Truncated => f.write_str("the stream ended without close_notify"),
            Self::Provider(what) => write!(f, "cryptography failed: {what}"),
            Self::Internal(what) => write!(f, "a mistake in this library: {what}"),
            Self::Configuration(what) => write!(f, "configuration: {what}"),
            Self::Misuse(what) => write!(f, "not possible now: {what}"),
        }
    }
}

impl core::error::Error for Error {}

impl From<RandomFailed> for Error {
    fn from(_: RandomFailed) -> Self {
        Self::Provider("no random bytes")
    }
}

impl From<AgreementError> for Error {
    fn from(error: AgreementError) -> Self {
        match error {
            AgreementError::InvalidShare => illegal_parameter("a key share is not valid"),
            AgreementError::Provider => Self::Provider("key agreement"),
        }
    }
}

/// A peer's mistake, answered by `alert`.
pub(crate) const fn protocol(alert: AlertDescription, reason: &'static str) -> Error {
    Error::Protocol { alert, reason }
}

pub(crate) const fn decode_error(reason: &'static str) -> Error {
    protocol(AlertDescription::DECODE_ERROR, reason)
}

pub(crate) const fn illegal_parameter(reason: &'static str) -> Error {
    protocol(AlertDescription::ILLEGAL_PARAMETER, reason)
}

pub(crate) const fn unexpected_message(reason: &'static str) -> Error {
    protocol(AlertDescription::UNEXPECTED_MESSAGE, reason)
}

pub(crate) const fn decrypt_error(reason: &'static str) -> Error {
    protocol(AlertDescription::DECRYPT_ERROR, reason)
}

pub(crate) const fn handshake_failure(reason: &'static str) -> Error {
    protocol(AlertDescription::HANDSHAKE_FAILURE, reason)
}
