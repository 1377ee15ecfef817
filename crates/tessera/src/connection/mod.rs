//! The public face over a stream: bytes and time in; bytes, events and questions out.
//!
//! ```text
//!            bytes from the peer ──► read() ──► events, data (in place), questions
//!   Output ◄── flights, alerts ────────┘             │
//!   Output ◄── write() ◄── data                      └──► answer()
//! ```
//!
//! Call [`Connection::read`] with everything received, drop what it [consumed](Progress::consumed),
//! act on the event, and call it again until it needs input. Send whatever is in the [`Output`].

mod client;
mod server;

pub use client::ClientConnection;
pub use server::ServerConnection;

use alloc::vec::Vec;
use core::time::Duration;

use crate::error::{Error, decode_error, unexpected_message};
use crate::handshake::{Context, Epoch, Event, Facts, Handshake};
use crate::limits::MAX_WARNINGS;
use crate::time::Time;
use crate::transport::{Incoming, Output, Stream, StreamTransport};
use crate::wire::{AlertDescription, HandshakeMessage};

/// What [`Connection::read`] did.
#[derive(Debug)]
pub struct Progress<'i, Q> {
    /// How many bytes at the beginning of the input are done with. Drop them after the event is
    /// handled: its data may lie in them.
    pub consumed: usize,
    /// What happened.
    pub event: ReadEvent<'i, Q>,
}

/// What happened.
///
/// Later versions may have more kinds of events. One that isn't known needs nothing but that reading
/// goes on.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadEvent<'i, Q> {
    /// Nothing more until more bytes come.
    NeedInput,
    /// Nothing more until the output is sent.
    OutputFull,
    /// Answer this with `answer`; until then nothing is read.
    Question(Q),
    /// A question is still open.
    WaitingForAnswer,
    /// The handshake has something to tell.
    Handshake(Event),
    /// Early data of the client. Replayable, unless it came under a forward-secret ticket.
    EarlyData(&'i [u8]),
    /// Application data.
    Data(&'i [u8]),
    /// The peer sent close_notify: nothing more comes, and nothing is missing. This side may go on
    /// sending.
    PeerClosed,
}

impl<Q> ReadEvent<'_, Q> {
    /// Whether nothing goes on before something comes from outside.
    fn waits(&self) -> bool {
        matches!(self, Self::NeedInput | Self::OutputFull | Self::WaitingForAnswer)
    }
}

/// A connection over a stream; see [`ClientConnection`] and [`ServerConnection`].
pub struct Connection<H> {
    handshake: H,
    common: Common,
}

/// All of a connection but its handshake.
pub(crate) struct Common {
    stream: Stream,
    facts: Facts,
    scratch: Vec<u8>,
    deadline: Duration,
    failed: Option<Error>,
    read_closed: bool,
    write_closed: bool,
    warnings: u8,
}

impl Common {
    pub(crate) fn new(is_client: bool, deadline: Duration) -> Self {
        Self {
            stream: Stream::new(is_client),
            facts: Facts::default(),
            scratch: Vec::new(),
            deadline,
            failed: None,
            read_closed: false,
            write_closed: false,
            warnings: 0,
        }
    }

    /// Runs a step of the handshake, then sends what it made ready.
    pub(crate) fn with_context<T>(
        &mut self,
        now: Time,
        output: &mut Output,
        step: impl FnOnce(&mut Context<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut transport = StreamTransport { stream: &mut self.stream, output };
        let result = step(&mut Context {
            now,
            transport: &mut transport,
            facts: &mut self.facts,
            scratch: &mut self.scratch,
        });
        self.stream.outgoing.flush(output);
        result
    }

    /// Ends the connection: the alert for the error goes out, and the error stays.
    pub(crate) fn fail(&mut self, error: Error, output: &mut Output) -> Error {
        if let Some(alert) = error.alert()
            && !self.write_closed
        {
            self.stream.send_alert(alert, output);
        }
        self.write_closed = true;
        self.read_closed = true;
        self.failed = Some(error.clone());
        error
    }
}

impl<H: Handshake> Connection<H> {
    /// Reads from `input`, decrypting in place, up to the next event.
    ///
    /// An error ends the connection; its alert is in the output and should still be sent.
    pub fn read<'i>(
        &mut self,
        now: Time,
        input: &'i mut [u8],
        output: &mut Output,
    ) -> Result<Progress<'i, H::Question>, Error> {
        if let Some(error) = &self.common.failed {
            return Err(error.clone());
        }
        let progress =
            self.read_on(now, input, output).map_err(|error| self.common.fail(error, output))?;
        // What is here already counts, however late it is read; only who would wait has no time.
        if progress.event.waits() && self.deadline().is_some_and(|it| it <= now.monotonic) {
            return Err(self.common.fail(Error::TimedOut, output));
        }
        Ok(progress)
    }

    fn read_on<'i>(
        &mut self,
        now: Time,
        input: &'i mut [u8],
        output: &mut Output,
    ) -> Result<Progress<'i, H::Question>, Error> {
        let mut consumed = 0;
        let mut rest = input;
        loop {
            if let Some(event) = self.common.stream.events.pop_front() {
                if matches!(event, Event::HandshakeComplete) {
                    self.common.scratch = Vec::new();
                    self.common.stream.release();
                }
                return Ok(Progress { consumed, event: ReadEvent::Handshake(event) });
            }
            if self.handshake.is_waiting() {
                let question = self.handshake.question();
                let event = question.map_or(ReadEvent::WaitingForAnswer, ReadEvent::Question);
                return Ok(Progress { consumed, event });
            }
            if !self.common.stream.joiner.is_empty() && self.handle_joined(now, output)? {
                continue;
            }
            if self.common.read_closed {
                consumed += rest.len();
                return Ok(Progress { consumed, event: ReadEvent::PeerClosed });
            }
            if output.is_full() {
                return Ok(Progress { consumed, event: ReadEvent::OutputFull });
            }

            let early = self.common.stream.incoming.epoch == Epoch::EarlyData;
            let len = record_len(rest);
            let (record, after) = core::mem::take(&mut rest).split_at_mut(len);
            rest = after;
            let (used, incoming) = self.common.stream.incoming.read(record)?;
            consumed += used;
            let between = !self.common.stream.joiner.is_empty();
            match incoming {
                Incoming::Partial => {
                    return Ok(Progress { consumed, event: ReadEvent::NeedInput });
                }
                Incoming::Nothing => (),
                Incoming::Handshake(bytes) => self.handshake_bytes(bytes, now, output)?,
                Incoming::Alert(_) | Incoming::Data(_) if between => {
                    return Err(unexpected_message("a record between the parts of a message"));
                }
                Incoming::Alert(alert) => self.alert(alert)?,
                Incoming::Data([]) => (),
                Incoming::Data(data) => {
                    if let Some(application) = self.handshake.application() {
                        application.saw_data();
                    }
                    let event =
                        if early { ReadEvent::EarlyData(data) } else { ReadEvent::Data(data) };
                    return Ok(Progress { consumed, event });
                }
            }
        }
    }

    /// Handles a record's messages where they lie; what is left over waits in the joiner.
    fn handshake_bytes(
        &mut self,
        bytes: &[u8],
        now: Time,
        output: &mut Output,
    ) -> Result<(), Error> {
        if !self.common.stream.joiner.is_empty() {
            self.common.stream.joiner.add(bytes);
            return Ok(());
        }
        let used = self.messages(bytes, now, output)?;
        self.common.stream.joiner.add(&bytes[used..]);
        Ok(())
    }

    /// Handles the messages that are whole now; says whether there were any.
    fn handle_joined(&mut self, now: Time, output: &mut Output) -> Result<bool, Error> {
        let bytes = self.common.stream.joiner.take();
        let used = self.messages(&bytes, now, output)?;
        self.common.stream.joiner.restore(bytes, used);
        Ok(used > 0)
    }

    /// Hands whole messages to the handshake until one opens a question; returns how many bytes.
    fn messages(&mut self, bytes: &[u8], now: Time, output: &mut Output) -> Result<usize, Error> {
        let mut used = 0;
        while !self.handshake.is_waiting() {
            let rest = &bytes[used..];
            let longest = self.handshake.max_message();
            if HandshakeMessage::len_of(rest).is_some_and(|len| len > longest) {
                // RFC 8446 §6.2: its length is incorrect.
                return Err(decode_error("a handshake message is longer than any sane one"));
            }
            let Some(message) = HandshakeMessage::split_from(rest) else { break };
            used += message.bytes.len();
            self.common.stream.joiner.has_more = used < bytes.len();
            let handshake = &mut self.handshake;
            self.common.with_context(now, output, |ctx| handshake.receive(message, ctx))?;
        }
        Ok(used)
    }

    fn alert(&mut self, alert: AlertDescription) -> Result<(), Error> {
        match alert {
            AlertDescription::CLOSE_NOTIFY if !self.common.facts.handshake_complete => {
                Err(Error::AlertReceived(alert))
            }
            AlertDescription::CLOSE_NOTIFY => {
                self.common.read_closed = true;
                Ok(())
            }
            AlertDescription::USER_CANCELED => {
                // RFC 8446 §6.1: a close_notify follows.
                self.common.warnings += 1;
                if self.common.warnings > MAX_WARNINGS {
                    return Err(unexpected_message("too many warnings"));
                }
                Ok(())
            }
            alert => Err(Error::AlertReceived(alert)),
        }
    }

    pub(crate) fn give_answer(
        &mut self,
        answer: H::Answer,
        now: Time,
        output: &mut Output,
    ) -> Result<(), Error> {
        if let Some(error) = &self.common.failed {
            return Err(error.clone());
        }
        let handshake = &mut self.handshake;
        let result = self.common.with_context(now, output, |ctx| handshake.answer(answer, ctx));
        result.map_err(|error| match error {
            Error::Misuse(_) => error,
            error => self.common.fail(error, output),
        })
    }

    /// Writes application data; returns how many bytes the output took. A server may write as soon
    /// as its flight is sent, before the client is authenticated by its Finished.
    pub fn write(&mut self, now: Time, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        self.check_writable()?;
        if self.common.stream.outgoing.epoch != Epoch::Application {
            return Err(Error::Misuse("application data before the handshake is complete"));
        }
        let mut written = 0;
        while written < data.len() {
            // RFC 8446 §5.5: the keys change before they are used up. Until the client's Finished a
            // server can't change them: it waits.
            let used_up = self.common.stream.outgoing.nears_limit();
            match self.handshake.application() {
                None if used_up => break,
                Some(application) if used_up || application.owes_update() => {
                    self.common.with_context(now, output, |ctx| {
                        application.update_write_key(used_up, ctx);
                        Ok(())
                    })?;
                }
                _ => (),
            }
            let some = self.common.stream.outgoing.application_data(&data[written..], output);
            written += some;
            if some == 0 {
                break;
            }
        }
        Ok(written)
    }

    /// Changes this side's keys, and with `request` asks the peer to change its own.
    pub fn update_keys(
        &mut self,
        now: Time,
        request: bool,
        output: &mut Output,
    ) -> Result<(), Error> {
        self.check_writable()?;
        let application = self.handshake.application();
        let application = application.ok_or(Error::Misuse("no keys to update yet"))?;
        self.common.with_context(now, output, |ctx| {
            application.update_write_key(request, ctx);
            Ok(())
        })
    }

    /// Sends close_notify: this side sends nothing more, and may go on reading.
    pub fn close(&mut self, output: &mut Output) {
        if !self.common.write_closed {
            self.common.write_closed = true;
            self.common.stream.send_alert(AlertDescription::CLOSE_NOTIFY, output);
        }
    }

    /// Says that the stream from the peer has ended. Without close_notify before it data may be
    /// missing: [`Error::Truncated`].
    pub fn end_of_stream(&mut self) -> Result<(), Error> {
        if let Some(error) = &self.common.failed {
            return Err(error.clone());
        }
        if self.common.read_closed {
            return Ok(());
        }
        // Nothing is sent after an error, close_notify included.
        self.common.write_closed = true;
        self.common.failed = Some(Error::Truncated);
        Err(Error::Truncated)
    }

    /// Exports keying material (RFC 8446 §7.5), of up to 255 hash outputs. The label has at most 249
    /// bytes.
    pub fn export_keying_material(
        &mut self,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        let application = self.handshake.application();
        let application = application.ok_or(Error::Misuse("no exporter before the handshake"))?;
        let longest = 255 * application.suite.hash.len();
        if label.len() > crate::schedule::MAX_EXPORTER_LABEL || out.len() > longest {
            return Err(Error::Misuse("an exporter's label or output is too long"));
        }
        application.exporter.export(label, context, out);
        Ok(())
    }

    /// When [`read`](Self::read) has to be called even if nothing came, on the monotonic clock. If the
    /// handshake would still have to wait then, it fails with [`Error::TimedOut`]. What came in the
    /// meantime should be read first: it may complete the handshake.
    pub fn deadline(&self) -> Option<Duration> {
        (!self.common.facts.handshake_complete).then_some(self.common.deadline)
    }

    /// What is known of the connection.
    pub fn facts(&self) -> &Facts {
        &self.common.facts
    }

    fn check_writable(&self) -> Result<(), Error> {
        match &self.common.failed {
            Some(error) => Err(error.clone()),
            None if self.common.write_closed => Err(Error::Misuse("this side was closed")),
            None => Ok(()),
        }
    }
}

/// The length of the first record of `input`, or all of it if the record is not whole.
fn record_len(input: &[u8]) -> usize {
    match input {
        [_, _, _, high, low, ..] => {
            input.len().min(5 + usize::from(u16::from_be_bytes([*high, *low])))
        }
        _ => input.len(),
    }
}
