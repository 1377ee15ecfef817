//! The stream that an application reads and writes.

use core::time::Duration;

use embedded_io::ErrorType;
use tessera::handshake::{ClientHandshake, Handshake, ServerHandshake};
use tessera::{Error as TlsError, Facts};

use crate::error::Error;
use crate::machine::Machine;

/// A client's stream.
pub type ClientStream<'b, IO> = TlsStream<'b, IO, ClientHandshake>;

/// A server's stream.
pub type ServerStream<'b, IO> = TlsStream<'b, IO, ServerHandshake>;

/// A TLS connection over a transport.
///
/// It implements [`embedded_io::Read`] and [`Write`](embedded_io::Write) where its transport does, and with the feature
/// `async` their counterparts in `embedded_io_async`. Methods whose names end in `_blocking` are for the former.
///
/// - Data that is written waits until it fills a record of [`Buffers::output`](crate::Buffers::output), until `flush`, or
///   until a read must wait for the peer: question and answer need no flush. Each flush costs a record of its own (22
///   bytes).
/// - A stream may be read and written before its handshake is complete; both drive the handshake.
/// - After the peer's close_notify, reads return 0 bytes and writes still work. If the connection ends without it,
///   the error is [`Truncated`](TlsError::Truncated): data may be missing.
/// - Reading answers key updates and takes tickets; a client that never reads gets no sessions.
/// - A peer that doesn't read holds up a write, and reads that have something to send. Nothing is received meanwhile: two
///   ends that both send more than their transports buffer, and only then read, wait forever.
/// - Dropping the stream wipes its buffers and closes nothing.
///
/// # Cancellation
/// All state is in the stream: a future of `read`, `write`, `flush`, `handshake` or `close` that is dropped loses nothing, if
/// the transport's futures of `read`, `write` and `flush` are free of side effects when dropped (those of embassy-net are).
/// The next call goes on, also one of another kind. Not so:
///
/// - `read_exact` and `write_all`, which don't report how far they came;
/// - `connect` and `accept`, which own the stream. Begin with `start` to keep it;
/// - a `write` that was dropped took nothing; what earlier writes took is sent by the next call.
///
/// # Time
/// Nothing here waits by itself but the transport. A blocking transport needs a time-out of its own; its error is passed on,
/// and the call may be repeated. Around an async call put the runtime's (`embassy_time::with_timeout`).
/// [`deadline`](Self::deadline) is when the handshake must be complete; however slowly bytes arrive, it ends then with
/// [`TimedOut`](TlsError::TimedOut), after the next byte or call.
pub struct TlsStream<'b, IO, H: Handshake> {
    pub(crate) io: IO,
    pub(crate) machine: Machine<'b, H>,
    /// The last read returned early data.
    pub(crate) is_early: bool,
}

impl<'b, IO, H: Handshake> TlsStream<'b, IO, H> {
    pub(crate) fn new(io: IO, machine: Machine<'b, H>) -> Self {
        Self { io, machine, is_early: false }
    }

    /// Returns whether the handshake is complete.
    pub fn is_handshake_complete(&self) -> bool {
        self.machine.complete
    }

    /// Returns when the handshake must be complete, on the monotonic clock; `None` once it is.
    pub fn deadline(&self) -> Option<Duration> {
        self.machine.connection.deadline()
    }

    /// Returns what is known of the connection: protocol, peer, suite, outcome of early data.
    pub fn facts(&self) -> &Facts {
        self.machine.connection.facts()
    }

    /// Returns the application protocol (RFC 7301).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.facts().protocol.as_deref()
    }

    /// Returns whether the last read returned early data. No read mixes early data with later data.
    ///
    /// Until the handshake is complete, replayable early data may not come from this connection's client;
    /// forward-secret early data is accepted at most once in any case. It may be a prefix of what the client
    /// sent, if an attacker on the path held the rest back: it must be self-delimiting.
    pub fn is_early(&self) -> bool {
        self.is_early
    }

    /// Exports keying material (RFC 8446 §7.5) once the handshake is complete.
    ///
    /// # Errors
    /// Before that, and after the end of both directions.
    pub fn export_keying_material(
        &mut self,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) -> Result<(), TlsError> {
        self.machine.connection.export_keying_material(label, context, out)
    }

    /// Returns the transport.
    pub fn get_ref(&self) -> &IO {
        &self.io
    }

    /// Returns the transport. What is read from it or written to it here is missing in the connection.
    pub fn get_mut(&mut self) -> &mut IO {
        &mut self.io
    }

    /// Ends the stream, wipes its buffers, and returns the transport. What was not sent is lost.
    pub fn into_inner(self) -> IO {
        self.io
    }

    /// Takes data that fits; returns how much.
    pub(crate) fn take_plain(&mut self, buffer: &mut [u8]) -> usize {
        let (count, is_early) = self.machine.take_plain(buffer);
        if count > 0 {
            self.is_early = is_early;
        }
        count
    }
}

impl<IO> ClientStream<'_, IO> {
    /// Returns how many bytes of early data may be written now: 0 without a session that allows it, or once the server has
    /// answered.
    pub fn early_data_room(&self) -> usize {
        self.machine.connection.early_data_room()
    }

    /// Adds early data to the first flight, on the heap; returns how many bytes were taken. Call it after
    /// [`start`](crate::Connector::start). What becomes of it is in [`facts`](Self::facts): see
    /// [`EarlyDataStatus`](tessera::handshake::EarlyDataStatus).
    ///
    /// Under a forward-secret ticket it is accepted at most once. Otherwise it may be replayed: write only what
    /// may be executed twice. It must be self-delimiting.
    ///
    /// # Errors
    /// The connection has failed or is closed.
    pub fn write_early(&mut self, data: &[u8]) -> Result<usize, TlsError> {
        let (connection, messages) = self.machine.connection_and_messages();
        connection.write_early_data(data, messages)
    }
}

impl<IO: ErrorType, H: Handshake> ErrorType for TlsStream<'_, IO, H> {
    type Error = Error<IO::Error>;
}
