//! Converts the engine's errors to I/O errors.

use std::io::{Error as IoError, ErrorKind};

use tessera::Error;
use tessera::wire::AlertDescription;

/// Wraps an error of the engine; `get_ref` and `downcast_ref` recover it.
pub(crate) fn wrap(error: Error) -> IoError {
    let kind = match &error {
        // close_notify is an error only before the end of the handshake.
        Error::Truncated | Error::AlertReceived(AlertDescription::CLOSE_NOTIFY) => {
            ErrorKind::UnexpectedEof
        }
        Error::AssociationLost => ErrorKind::ConnectionReset,
        Error::TimedOut => ErrorKind::TimedOut,
        Error::Protocol { .. } | Error::AlertReceived(_) | Error::PeerRejected(_) => {
            ErrorKind::InvalidData
        }
        Error::Configuration(_) | Error::Misuse(_) => ErrorKind::InvalidInput,
        Error::Closed => ErrorKind::BrokenPipe,
        Error::TooEarly(_) => ErrorKind::NotConnected,
        _ => ErrorKind::Other,
    };
    IoError::new(kind, error)
}
