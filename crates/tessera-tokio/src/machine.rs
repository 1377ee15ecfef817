//! A connection with its buffers: everything that doesn't wait.

use std::sync::Arc;
use std::time::Duration;

use tessera::{Connection, Error, Event, Output, ReadEvent, Role, Time};
use tokio::time::Instant;

use crate::answers::{Answer, Answers};
use crate::async_handshake::{AnswerCallback, AsyncHandshake, Face};
use crate::clock::since;
use crate::current::{InitialConfig, withdrawn};
use crate::early_data_buffer::EarlyDataBuffer;
use crate::input::Input;
use crate::sessions::SessionWriter;
use crate::watch::Completion;

/// A stream without its socket.
///
/// All state is here and none in a future, so any future that polls it may be dropped at any time.
pub(crate) struct Machine<S: AsyncHandshake> {
    pub(crate) connection: Connection<S>,
    pub(crate) input: Input,
    pub(crate) output: Output,
    /// The output holds more memory than an idle connection should.
    has_large_output: bool,
    /// The plaintext in `input` came as early data.
    plain_is_early: bool,
    /// Early data that arrived during the handshake. The engine bounds it by max_early_data_size.
    early_data: EarlyDataBuffer,
    /// The answer that the engine waits for.
    pub(crate) pending: Option<Answer<AnswerCallback<S>>>,
    answers: Arc<dyn Answers>,
    pub(crate) session_writer: SessionWriter,
    /// The configuration, and whether it is still current.
    pub(crate) begun: InitialConfig<S::Config>,
    /// Nothing was read from the peer.
    unread: bool,
    pub(crate) completion: Completion,
    pub(crate) complete: bool,
    pub(crate) failed: Option<Error>,
    /// Zero of this connection's monotonic time.
    started: Instant,
    /// The handshake's deadline.
    pub(crate) latest_completion: Instant,
}

/// Why the engine stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is plaintext to be read.
    Plain,
    NeedInput,
    OutputFull,
    /// An answer is waited for.
    Waiting,
    PeerClosed,
}

impl<S: AsyncHandshake> Machine<S> {
    pub(crate) fn new(
        begun: InitialConfig<S::Config>,
        start: impl FnOnce(Time, &mut Output) -> Result<Connection<S>, Error>,
        answers: Arc<dyn Answers>,
        session_writer: SessionWriter,
    ) -> Result<Self, Error> {
        let started = Instant::now();
        let mut output = Output::with_limit(OUTPUT_LIMIT);
        let connection = start(since(started), &mut output)?;
        let deadline = connection.deadline().unwrap_or_default();
        let latest_completion = started.checked_add(deadline).unwrap_or(started + A_YEAR);
        Ok(Self {
            connection,
            input: Input::default(),
            output,
            has_large_output: false,
            plain_is_early: false,
            early_data: EarlyDataBuffer::default(),
            pending: None,
            answers,
            session_writer,
            begun,
            unread: true,
            completion: Completion::default(),
            complete: false,
            failed: None,
            started,
            latest_completion,
        })
    }

    pub(crate) fn now(&self) -> Time {
        since(self.started)
    }

    /// Returns the deadline of the handshake, while it applies.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.connection.deadline().map(|_| self.latest_completion)
    }

    /// Whether the handshake has taken too long, unless input not yet received completes it.
    pub(crate) fn is_late(&self) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Lets the engine read received bytes until it has plaintext or can't continue.
    pub(crate) fn advance(&mut self) -> Result<Step, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        loop {
            self.check_withdrawn()?;
            if !self.input.plain().is_empty() {
                return Ok(Step::Plain);
            }
            match self.read().map_err(|error| self.fail(error))? {
                ReadEvent::NeedInput => return Ok(Step::NeedInput),
                ReadEvent::OutputFull => return Ok(Step::OutputFull),
                ReadEvent::WaitingForAnswer => return Ok(Step::Waiting),
                ReadEvent::PeerClosed => return Ok(Step::PeerClosed),
                ReadEvent::Question(question) => {
                    self.pending = Some(S::ask(question, &*self.answers));
                    return Ok(Step::Waiting);
                }
                ReadEvent::Handshake(event) => self.note(event)?,
                ReadEvent::EarlyData(_) => self.plain_is_early = true,
                ReadEvent::Data(_) => self.plain_is_early = false,
                // Events that this version doesn't know.
                _ => (),
            }
        }
    }

    /// Returns the engine's next event. Plaintext stays in place.
    fn read(&mut self) -> Result<ReadEvent<S::Question>, Error> {
        let now = self.now();
        let filled = self.input.filled();
        let progress = self.connection.read(now, filled, &mut self.output)?;
        let plain = match &progress.event {
            ReadEvent::EarlyData(plain) | ReadEvent::Data(plain) => plain.clone(),
            _ => 0..0,
        };
        self.unread &= progress.consumed == 0;
        self.input.consume(progress.consumed, plain);
        Ok(progress.event)
    }

    fn note(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::HandshakeComplete => {
                // This very step may have accepted the peer.
                self.check_withdrawn()?;
                self.begun.complete(self.connection.facts());
                self.complete = true;
                self.completion.complete();
            }
            Event::NewSession(session) => self.session_writer.put(session),
            // The facts record what became of early data.
            _ => (),
        }
        Ok(())
    }

    /// Ends a handshake whose peer, PSK or session was withdrawn meanwhile. Checked before and after each
    /// step of the engine: the results of a step, such as early data for the application, are valid only
    /// under the current configuration. A server that has read nothing yet begins again.
    pub(crate) fn check_withdrawn(&mut self) -> Result<(), Error> {
        if self.complete || !self.begun.is_earlier() {
            return Ok(());
        }
        if self.failed.is_some() {
            if self.begun.is_withdrawn(self.connection.facts()) {
                self.drop_plain();
            }
            return Ok(());
        }
        if self.unread
            && let Some((config, begun)) = self.begun.again()
            && let Some(connection) = S::unread(config, self.now())
        {
            self.connection = connection;
            self.begun = begun;
            return Ok(());
        }
        if !self.begun.is_withdrawn(self.connection.facts()) {
            return Ok(());
        }
        // Unsent output would confirm that the peer was accepted. Tickets may go: they can't be used any
        // more.
        let are_tickets = S::ROLE == Role::Server && self.connection.facts().handshake_complete;
        let unsent = if are_tickets { 0 } else { self.output.as_slice().len() };
        self.output.consume(unsent);
        let error = self.connection.refuse(withdrawn(), &mut self.output);
        if unsent > 0 {
            // An alert behind a gap in the record sequence could not be decrypted.
            self.output.consume(self.output.as_slice().len());
        }
        self.drop_plain();
        Err(self.fail(error))
    }

    /// Drops unread plaintext before it reaches the application.
    fn drop_plain(&mut self) {
        self.early_data = EarlyDataBuffer::default();
        self.input.consume_plain(self.input.plain().len());
    }

    /// Passes an answer to the engine.
    pub(crate) fn give(&mut self, answer: AnswerCallback<S>) -> Result<(), Error> {
        self.check_withdrawn()?;
        let now = self.now();
        let face = Face::Stream(&mut self.connection, &mut self.output);
        answer(face, now).map_err(|error| self.fail(error))
    }

    /// Handles the end of the peer's stream.
    pub(crate) fn end_of_stream(&mut self) -> Result<(), Error> {
        self.connection.end_of_stream().map_err(|error| self.fail(error))
    }

    fn fail(&mut self, error: Error) -> Error {
        self.pending = None;
        self.failed = Some(error.clone());
        error
    }

    /// Moves plaintext out of the way of the handshake.
    pub(crate) fn hold(&mut self) {
        self.early_data.add(self.input.plain());
        self.input.consume_plain(self.input.plain().len());
    }

    /// Returns the next plaintext, and whether it came as early data.
    pub(crate) fn plain(&self) -> (&[u8], bool) {
        match self.early_data.bytes() {
            [] => (self.input.plain(), self.plain_is_early),
            early_data => (early_data, true),
        }
    }

    pub(crate) fn consume_plain(&mut self, count: usize) {
        if self.early_data.bytes().is_empty() {
            self.input.consume_plain(count);
        } else {
            self.early_data.consume(count);
        }
    }

    /// Writes as much application data as may wait in the output; returns 0 if output must be sent first, or
    /// if the handshake must continue first.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<usize, Error> {
        let mut written = 0;
        while written < data.len() && self.has_room() {
            let chunk = &data[written..data.len().min(written + CHUNK)];
            match self.connection.write(chunk, &mut self.output) {
                Ok(0) => break,
                Ok(count) => written += count,
                Err(Error::TooEarly(_)) => break,
                Err(error) => return Err(error),
            }
        }
        self.has_large_output |= self.output.as_slice().len() > LARGE_OUTPUT;
        Ok(written)
    }

    /// Whether application data may be written already.
    pub(crate) fn is_writable(&self) -> bool {
        self.connection.can_write()
    }

    /// Whether application data may be added to the output.
    pub(crate) fn has_room(&self) -> bool {
        self.output.as_slice().len() < ENOUGH
    }

    /// Releases memory that an idle connection doesn't need.
    pub(crate) fn release(&mut self) {
        self.input.release();
        if self.output.is_empty() {
            self.output.release();
            self.has_large_output = false;
        }
    }

    /// Releases large output after a flush, for connections whose reader always waits. Small messages keep
    /// their memory: they would only allocate it again.
    pub(crate) fn release_large_output(&mut self) {
        if self.has_large_output && self.output.is_empty() {
            self.output.release();
            self.has_large_output = false;
        }
    }
}

/// A connection with a full output reads nothing. If application data could fill it, two peers that write at
/// once would deadlock: application data stops at less than half, and the rest is for the engine's own
/// answers.
const OUTPUT_LIMIT: usize = 80 * 1024;

/// Limit for application data: two full records in one write.
const ENOUGH: usize = 32 * 1024;

/// Output memory beyond this is released after a flush.
const LARGE_OUTPUT: usize = 4 * 1024;

/// How much is written at once; a small record_size_limit makes the output a third longer.
pub(crate) const CHUNK: usize = 16 * 1024;

/// Replaces timeouts that overflow the clock.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
