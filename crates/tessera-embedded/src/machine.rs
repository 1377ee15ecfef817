//! A connection with its buffers: everything but the transport.

use alloc::string::String;
use alloc::sync::Arc;

use tessera::auth::PeerRejected;
use tessera::handshake::Handshake;
use tessera::wire::AlertDescription;
use tessera::{Clock, Connection, Error as TlsError, Event, Output, ReadEvent, Role};

use crate::buffers::{Buffer, BufferTooSmall};
use crate::error::{Error, Failure};
use crate::input::Input;
use crate::outgoing::Outgoing;
use crate::sessions::Sessions;

/// A stream without its transport.
///
/// All state is here and none in a future, so any future that drives it may be dropped at any time.
pub(crate) struct Machine<'b, H: Handshake> {
    pub(crate) connection: Connection<H>,
    clock: Arc<dyn Clock>,
    sessions: Option<Sessions>,
    input: Input<'b>,
    outgoing: Outgoing<'b>,
    pub(crate) complete: bool,
    /// The plaintext in `input` came as early data.
    plain_is_early: bool,
    /// The peer sent close_notify.
    peer_closed: bool,
    /// This side did.
    closed: bool,
    failed: Option<Failure>,
}

/// What the caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The handshake is complete and its last flight is sent, or there is early data.
    Handshake,
    /// Plaintext, or the end of it.
    Data,
    /// Room for data.
    Room,
    /// Everything is sent.
    Flush,
    /// close_notify is sent.
    Close,
}

/// What the transport must do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing: the goal is reached.
    Done,
    /// Write [`to_send`](Machine::to_send), and report it to [`sent`](Machine::sent).
    Send,
    /// Flush, and report it to [`flushed`](Machine::flushed).
    Flush,
    /// Read into [`room`](Machine::room), and report it to [`received`](Machine::received).
    Receive,
}

impl<'b, H: Handshake> Machine<'b, H> {
    /// The buffer for input suffices for a record.
    pub(crate) fn new(
        connection: Connection<H>,
        input: &'b mut [u8],
        outgoing: Outgoing<'b>,
        clock: Arc<dyn Clock>,
        sessions: Option<Sessions>,
    ) -> Self {
        Self {
            connection,
            clock,
            sessions,
            input: Input::new(input),
            outgoing,
            complete: false,
            plain_is_early: false,
            peer_closed: false,
            closed: false,
            failed: None,
        }
    }

    /// Returns what the transport must do next for this goal. Not inlined: the loops of all transports share it.
    #[inline(never)]
    pub(crate) fn next(&mut self, goal: Goal) -> Result<Step, Failure> {
        loop {
            let has_plain = !self.input.plain().is_empty();
            if goal == Goal::Data && has_plain {
                return Ok(Step::Done);
            }
            if self.outgoing.has_to_send() {
                return Ok(Step::Send);
            }
            let unflushed = self.outgoing.unflushed;
            if let Some(failure) = &self.failed {
                return if unflushed { Ok(Step::Flush) } else { Err(failure.clone()) };
            }
            if self.is_reached(goal)? {
                return Ok(if goal != Goal::Room && unflushed { Step::Flush } else { Step::Done });
            }
            if self.seal()? || (goal == Goal::Close && self.close()) {
                continue;
            }
            if has_plain {
                // Only a server that wants to end its handshake while early data waits gets here.
                return Err(TlsError::TooEarly("early data must be read first").into());
            }
            match self.read() {
                Ok(true) => (),
                Ok(false) if self.outgoing.has_to_send() => (),
                Ok(false) if unflushed => return Ok(Step::Flush),
                Ok(false) => return Ok(Step::Receive),
                // In the next round, after the alert.
                Err(failure) => self.failed = Some(failure),
            }
        }
    }

    fn is_reached(&self, goal: Goal) -> Result<bool, Failure> {
        Ok(match goal {
            Goal::Handshake => self.complete || !self.input.plain().is_empty(),
            Goal::Data => self.peer_closed && self.outgoing.data() == 0,
            Goal::Room if self.closed => return Err(TlsError::Closed.into()),
            Goal::Room => self.room_for_data() > self.outgoing.data(),
            Goal::Flush => self.outgoing.data() == 0,
            Goal::Close => self.closed,
        })
    }

    /// Seals the data that waits; returns whether there was any, and it could be.
    fn seal(&mut self) -> Result<bool, Failure> {
        if self.outgoing.data() == 0 {
            return Ok(false);
        }
        let Self { connection, outgoing, .. } = self;
        Ok(outgoing.seal(|record, len, output| connection.write_in_place(record, len, output))?)
    }

    /// Closes this side's direction. A server whose flight is made completes its handshake first, unless early data keeps
    /// it from reading: nothing follows close_notify, tickets included.
    fn close(&mut self) -> bool {
        let waits = H::ROLE == Role::Server && !self.complete && self.connection.can_write();
        if self.closed || (waits && self.input.plain().is_empty()) {
            return false;
        }
        self.closed = true;
        self.connection.close(&mut self.outgoing.messages);
        true
    }

    /// Lets the engine read up to its next event; returns whether it may go on without more input.
    #[inline(never)]
    fn read(&mut self) -> Result<bool, Failure> {
        let Self { connection, input, outgoing, .. } = self;
        let progress = connection.read(self.clock.now(), input.filled(), &mut outgoing.messages)?;
        let plain = match &progress.event {
            ReadEvent::EarlyData(plain) | ReadEvent::Data(plain) => plain.clone(),
            _ => 0..0,
        };
        input.consume(progress.consumed, plain);
        match progress.event {
            ReadEvent::NeedInput => match self.input.missing() {
                0 => return Ok(false),
                missing => {
                    self.refuse(AlertDescription::RECORD_OVERFLOW);
                    let buffer = Buffer::Input;
                    return Err(Failure::Buffer(BufferTooSmall { buffer, missing }));
                }
            },
            ReadEvent::OutputFull => return Ok(false),
            ReadEvent::Question(_) | ReadEvent::WaitingForAnswer => {
                self.refuse(AlertDescription::INTERNAL_ERROR);
                return Err(Failure::Unanswered);
            }
            // Only a goal that waits for nothing from the peer gets here twice.
            ReadEvent::PeerClosed if self.peer_closed => return Err(TlsError::Closed.into()),
            ReadEvent::PeerClosed => self.peer_closed = true,
            ReadEvent::Handshake(Event::HandshakeComplete) => self.complete = true,
            ReadEvent::Handshake(Event::NewSession(session)) => {
                if let Some(sessions) = &self.sessions {
                    sessions.put(*session);
                }
            }
            ReadEvent::EarlyData(_) => self.plain_is_early = true,
            ReadEvent::Data(_) => self.plain_is_early = false,
            // The facts record what became of early data.
            _ => (),
        }
        Ok(true)
    }

    /// Ends the connection for a reason that the engine doesn't know.
    fn refuse(&mut self, alert: AlertDescription) {
        let why = PeerRejected { alert, reason: String::new() };
        self.connection.refuse(why, &mut self.outgoing.messages);
    }

    pub(crate) fn to_send(&self) -> &[u8] {
        self.outgoing.to_send()
    }

    pub(crate) fn sent<E>(&mut self, result: Result<usize, E>) -> Result<(), Error<E>> {
        match result {
            Ok(0) => Err(self.or_failure(Error::WriteZero)),
            Ok(count) => {
                self.outgoing.sent(count);
                Ok(())
            }
            Err(error) => Err(self.or_failure(Error::Transport(error))),
        }
    }

    pub(crate) fn flushed<E>(&mut self, result: Result<(), E>) -> Result<(), Error<E>> {
        result.map_err(|error| self.or_failure(Error::Transport(error)))?;
        self.outgoing.unflushed = false;
        Ok(())
    }

    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.input.room()
    }

    pub(crate) fn received<E>(&mut self, result: Result<usize, E>) -> Result<(), Error<E>> {
        match result.map_err(Error::Transport)? {
            0 => match self.connection.end_of_stream() {
                Ok(()) => self.peer_closed = true,
                Err(error) => self.failed = Some(error.into()),
            },
            count => self.input.received(count),
        }
        Ok(())
    }

    /// Returns why the connection failed, if it did: its alert could not be sent.
    fn or_failure<E>(&mut self, error: Error<E>) -> Error<E> {
        match &self.failed {
            Some(failure) => {
                self.outgoing.drop_unsent();
                failure.clone().into()
            }
            None => error,
        }
    }

    /// Moves plaintext to the reader; returns how much, and whether it came as early data.
    pub(crate) fn take_plain(&mut self, to: &mut [u8]) -> (usize, bool) {
        (self.input.take_plain(to), self.plain_is_early)
    }

    /// Takes data to be sent; returns how much.
    pub(crate) fn add(&mut self, data: &[u8]) -> usize {
        let room = self.room_for_data();
        self.outgoing.add(data, room)
    }

    fn room_for_data(&self) -> usize {
        self.connection.room_in_place(self.outgoing.len())
    }

    /// The engine's messages, for what only one role writes.
    pub(crate) fn connection_and_messages(&mut self) -> (&mut Connection<H>, &mut Output) {
        (&mut self.connection, &mut self.outgoing.messages)
    }
}
