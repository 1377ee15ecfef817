//! Errors: what went wrong, which alert reports it, and what to do about it.

use alloc::string::String;
use core::fmt;

use crate::alert::AlertDescription;

/// Why a connection ended, or why it refused a call: see [`is_final`](Self::is_final).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer broke the protocol, or asked for what this side doesn't support.
    Protocol {
        /// The alert that was sent.
        alert: AlertDescription,
        /// What was wrong.
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
    /// The client hasn't shown that it receives what is sent to its address, and has no PSK that would vouch for it: ask
    /// for a cookie.
    AddressUnproved,
    /// The server has lost the association, and reported it in a reset: connect again, with a session.
    AssociationLost,
    /// This side's cryptography failed.
    Provider(&'static str),
    /// A block of so many bytes is more than the allocator has left.
    OutOfMemory(usize),
    /// A state that can't occur: a bug in this library. Please report it, with the text.
    Internal(&'static str),
    /// The configuration can't work; the text names the part and what would be right.
    Configuration(&'static str),
    /// The call must wait until the handshake is further; the connection continues.
    TooEarly(&'static str),
    /// This side has closed its direction and sends nothing more.
    Closed,
    /// An answer to a question that is not open; the connection continues, and the open question still
    /// needs its own answer.
    WrongAnswer,
    /// An invalid argument, whatever the state; the connection continues.
    Misuse(&'static str),
}

impl Error {
    /// Returns whether the connection has ended. Otherwise a call was refused, and nothing has changed.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::TooEarly(_) | Self::Closed | Self::WrongAnswer | Self::Misuse(_))
    }

    /// Returns the alert that reports this error to the peer, if any.
    pub fn alert(&self) -> Option<AlertDescription> {
        match self {
            Self::Protocol { alert, .. } => Some(*alert),
            Self::PeerRejected(rejected) => Some(rejected.alert),
            Self::Provider(_)
            | Self::OutOfMemory(_)
            | Self::Internal(_)
            | Self::Configuration(_) => Some(AlertDescription::INTERNAL_ERROR),
            Self::AlertReceived(_)
            | Self::Truncated
            | Self::TimedOut
            | Self::AddressUnproved
            | Self::AssociationLost => None,
            Self::TooEarly(_) | Self::Closed | Self::WrongAnswer | Self::Misuse(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol { alert, reason } => write!(f, "{reason} (alert {alert:?})"),
            Self::AlertReceived(alert) => write!(f, "the peer ended the connection: {alert:?}"),
            Self::PeerRejected(rejected) => rejected.fmt(f),
            Self::TimedOut => f.write_str("the handshake was not complete within its time limit"),
            Self::AddressUnproved => f.write_str("the client's address is unproved"),
            Self::AssociationLost => f.write_str("the server has lost the association"),
            Self::Truncated => f.write_str("the stream ended without close_notify"),
            Self::Provider(what) => write!(f, "cryptography failed: {what}"),
            Self::OutOfMemory(len) => write!(
                f,
                "no {len} bytes of memory are free in one block: free some, or lower the limits"
            ),
            Self::Internal(what) => write!(f, "a mistake in this library: {what}"),
            Self::Configuration(what) => write!(f, "configuration: {what}"),
            Self::TooEarly(what) => write!(f, "the handshake is not far enough: {what}"),
            Self::Closed => f.write_str("this side was closed"),
            Self::WrongAnswer => f.write_str("this is not the answer to the open question"),
            Self::Misuse(what) => write!(f, "not possible: {what}"),
        }
    }
}

impl core::error::Error for Error {}

/// The peer is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerRejected {
    /// The alert for the peer (RFC 8446 §6.2).
    pub alert: AlertDescription,
    /// The reason, for the local log.
    pub reason: String,
}

impl PeerRejected {
    /// Creates a rejection with this reason, or with none if there is no memory for it.
    #[must_use]
    pub fn new(alert: AlertDescription, reason: &str) -> Self {
        let mut kept = String::new();
        if kept.try_reserve_exact(reason.len()).is_ok() {
            kept.push_str(reason);
        }
        Self { alert, reason: kept }
    }
}

impl fmt::Display for PeerRejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer is not accepted: {} ({:?})", self.reason, self.alert)
    }
}

impl core::error::Error for PeerRejected {}

/// Returns an error of the configuration unless its requirement `holds`.
pub(crate) fn require(holds: bool, what: &'static str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(configuration(what)) }
}

/// Returns the error for a mistake of this side's owner.
pub(crate) const fn configuration(what: &'static str) -> Error {
    Error::Configuration(if cfg!(feature = "reasons") { what } else { "" })
}

/// Returns the error for a peer's mistake, answered by `alert`.
pub(crate) const fn protocol(alert: AlertDescription, reason: &'static str) -> Error {
    Error::Protocol { alert, reason: if cfg!(feature = "reasons") { reason } else { "" } }
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
