//! What a stream can fail with.

use core::fmt;

use embedded_io::ErrorKind;
use tessera::Error as TlsError;
use tessera::wire::AlertDescription;

use crate::buffers::BufferTooSmall;

/// Why a call failed.
///
/// After [`Transport`](Self::Transport) the connection continues, if its transport does: a read that timed out may be
/// repeated. The other errors end it, and later calls return the same one; its alert was sent as far as possible. Errors
/// of [`Tls`](Self::Tls) for which [`is_final`](TlsError::is_final) returns false only refuse the call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error<E> {
    /// The transport failed, or its time ran out.
    Transport(E),
    /// The transport took none of the bytes to be sent.
    WriteZero,
    /// TLS failed: the peer's fault, its alert, the end of its stream without close_notify, the handshake's time limit.
    Tls(TlsError),
    /// A buffer is too small for the configuration's record_size_limit: nothing was sent. Or the peer sent a record, which
    /// may be its hello, that doesn't fit the input: the alert is record_overflow.
    Buffer(BufferTooSmall),
    /// The configuration leaves a question for later ([`Reply::Later`](tessera::handshake::Reply)), which streams of this
    /// crate can't answer: all must be answered at once.
    Unanswered,
}

/// What ends a connection without its transport.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    Tls(TlsError),
    Buffer(BufferTooSmall),
    Unanswered,
}

impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        Self::Tls(error)
    }
}

impl<E> From<Failure> for Error<E> {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Tls(error) => Self::Tls(error),
            Failure::Buffer(error) => Self::Buffer(error),
            Failure::Unanswered => Self::Unanswered,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(error) => error.fmt(f),
            Self::WriteZero => f.write_str("the transport takes no bytes"),
            Self::Tls(error) => error.fmt(f),
            Self::Buffer(error) => error.fmt(f),
            Self::Unanswered => f.write_str(
                "the configuration leaves a question for later, which these streams can't answer: reply at once",
            ),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Error<E> {}

impl<E: embedded_io::Error> embedded_io::Error for Error<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Transport(error) => error.kind(),
            Self::WriteZero => ErrorKind::WriteZero,
            Self::Buffer(_) => ErrorKind::OutOfMemory,
            Self::Unanswered => ErrorKind::Unsupported,
            Self::Tls(error) => match error {
                // close_notify is an error only before the end of the handshake.
                TlsError::Truncated | TlsError::AlertReceived(AlertDescription::CLOSE_NOTIFY) => {
                    ErrorKind::ConnectionAborted
                }
                TlsError::TimedOut => ErrorKind::TimedOut,
                TlsError::OutOfMemory(_) => ErrorKind::OutOfMemory,
                TlsError::Protocol { .. }
                | TlsError::AlertReceived(_)
                | TlsError::PeerRejected(_) => ErrorKind::InvalidData,
                TlsError::Configuration(_) | TlsError::Misuse(_) => ErrorKind::InvalidInput,
                TlsError::Closed => ErrorKind::BrokenPipe,
                TlsError::TooEarly(_) => ErrorKind::NotConnected,
                _ => ErrorKind::Other,
            },
        }
    }
}
