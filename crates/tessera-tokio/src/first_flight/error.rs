//! Why a first flight failed, and whether its data may be sent again.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use tessera::resume::{FlightHandle, Verdict};

use crate::early_data::EarlyDataOutcome;

/// The server did not settle what a [`FirstFlight`](crate::FirstFlight) carried, and the stream does not send
/// it again by itself. Every later call on either half returns the same error, inside an [`io::Error`].
///
/// ```
/// use std::error::Error;
/// use tessera::resume::FlightHandle;
/// use tessera_tokio::FirstFlightError;
///
/// enum Next {
///     /// It was not executed, and never will be: try again.
///     TryAgain,
///     /// It may have been executed: ask for its receipt, or an operator.
///     Ask(Option<FlightHandle>),
/// }
///
/// fn after(error: &(dyn Error + 'static)) -> Option<Next> {
///     let error = FirstFlightError::of(error)?;
///     let next = if error.may_be_sent_again() { Next::TryAgain } else { Next::Ask(error.flight()) };
///     Some(next)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct FirstFlightError {
    pub(super) reason: FirstFlightFailure,
    pub(super) outcome: EarlyDataOutcome,
}

/// The cause of the failure.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum FirstFlightFailure {
    /// The server did not take it, and it may have been executed.
    Rejected,
    /// The server did not take it and chose this application protocol instead of the session's: what was
    /// written is in the wrong one.
    #[non_exhaustive]
    OtherProtocol {
        /// The protocol it chose.
        protocol: Option<Vec<u8>>,
    },
    /// The connection failed before the server's answer was verified.
    #[non_exhaustive]
    ConnectionFailed {
        /// The stream's error.
        error: Arc<io::Error>,
    },
}

impl FirstFlightError {
    /// Finds the error inside a stream's [`io::Error`], or behind an error that has it as its source, such as
    /// that of an HTTP/1.1 client.
    pub fn of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
                Some(inner) => Some(inner as &(dyn Error + 'static)),
                None => error.source(),
            };
        }
        None
    }

    /// Returns the cause.
    pub fn reason(&self) -> &FirstFlightFailure {
        &self.reason
    }

    /// Returns what is known of the early data.
    pub fn outcome(&self) -> EarlyDataOutcome {
        self.outcome
    }

    /// Returns the server's verdict, or [`Verdict::Unknown`] if it sent none; `None` if nothing had been
    /// sent.
    pub fn verdict(&self) -> Option<Verdict> {
        self.outcome.verdict
    }

    /// Returns the flight's name, if anything was sent: a later connection can ask for its receipt
    /// ([`Destination::ask_receipts`](tessera::Destination::ask_receipts)).
    pub fn flight(&self) -> Option<FlightHandle> {
        self.outcome.flight
    }

    /// Returns whether sending the data again, on another connection, can't execute it twice.
    pub fn may_be_sent_again(&self) -> bool {
        self.outcome.may_be_sent_again()
    }

    /// Wraps it as an error of the stream.
    pub(super) fn to_io(&self) -> io::Error {
        let kind = match &self.reason {
            FirstFlightFailure::ConnectionFailed { error } => error.kind(),
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, self.clone())
    }
}

impl fmt::Display for FirstFlightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            FirstFlightFailure::Rejected => {
                f.write_str("the server did not accept the early data")?
            }
            FirstFlightFailure::OtherProtocol { protocol } => {
                f.write_str("the server did not accept the early data and chose ")?;
                match protocol {
                    Some(protocol) => write!(f, "another protocol, {}", protocol.escape_ascii())?,
                    None => f.write_str("no application protocol")?,
                }
            }
            FirstFlightFailure::ConnectionFailed { .. } => {
                f.write_str("the connection failed before early data was answered")?;
            }
        }
        f.write_str(match self.outcome.verdict {
            None => "; none of it had been sent: it may be sent again",
            Some(Verdict::Burned) => "; verdict burned: it may be sent again",
            Some(Verdict::Used) => {
                "; verdict used: it may have been executed. Ask for the flight's receipt, don't send it \
                 again"
            }
            Some(_) => {
                "; verdict unknown: it may have been executed. Ask for the flight's receipt, or send \
                 again only what may be executed twice"
            }
        })
    }
}

impl Error for FirstFlightError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.reason {
            FirstFlightFailure::ConnectionFailed { error } => Some(&**error),
            _ => None,
        }
    }
}
