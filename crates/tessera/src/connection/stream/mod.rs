//! The face over a stream: bytes and time in; bytes, events and questions out.
//!
//! ```text
//!            bytes from the peer ──► read() ──► events, data (in place), questions
//!   Output ◄── flights, alerts ────────┘             │
//!   Output ◄── write() ◄── data                      └──► answer()
//! ```
//!
//! Call [`Connection::read`] with everything received, handle the event, drop what was
//! [consumed](Progress::consumed), and call it again until it needs input. Send what is in the
//! [`Output`].

mod client;

use alloc::vec::Vec;
use core::convert::Infallible;
use core::ops::Range;
use core::time::Duration;

use super::PathMessage;
use crate::error::{Error, PeerRejected, unexpected_message};
use crate::handshake::{
    Arrival, Checked, ClientHandshake, Core, Direction, Epoch, Event, Facts, Handshake,
    ServerConfig, ServerHandshake,
};
use crate::limits::MAX_WARNINGS;
use crate::question::{OpenQuestion, Question, Token};
use crate::record::{HEADER_LEN, Incoming, Output, Stream, StreamBelow};
use crate::role::Role;
use crate::schedule::STREAM;
use crate::time::Time;
use crate::wire::AlertDescription;

/// A connection over a stream; see [`ClientConnection`] and [`ServerConnection`].
pub struct Connection<H: Handshake> {
    core: Core<H>,
    stream: Stream,
    read_closed: bool,
    write_closed: bool,
    warnings: u8,
}

/// A client's connection.
pub type ClientConnection = Connection<ClientHandshake>;

/// A server's connection.
pub type ServerConnection = Connection<ServerHandshake>;

/// What [`Connection::read`] did.
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "what was consumed is to be dropped from the input, and the event acted on"]
pub struct Progress<Q> {
    /// How many bytes at the beginning of the input, or of the datagram, are done with. Drop them after handling
    /// the event, whose data may be among them.
    pub consumed: usize,
    /// What happened.
    pub event: ReadEvent<Q>,
}

/// What happened.
///
/// Later versions may add kinds of events. An unknown one needs no action: read on.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadEvent<Q> {
    /// Nothing more until more bytes, or another datagram, arrive.
    NeedInput,
    /// Nothing more until the output is sent.
    OutputFull,
    /// Answer this with `answer`; nothing is read until then.
    Question(Q),
    /// A question is still open.
    WaitingForAnswer,
    /// An event of the handshake.
    Handshake(Event),
    /// The client's early data, decrypted: the bytes of the input in this range. Replayable, unless it
    /// came under a forward-secret ticket.
    EarlyData(Range<usize>),
    /// The same over datagrams, if it came before the ClientHello was answered.
    EarlyDatagram(Vec<u8>),
    /// Application data, decrypted: the bytes of the input in this range.
    Data(Range<usize>),
    /// The peer sent close_notify: the data is complete, and nothing more arrives. This side may continue
    /// to send.
    PeerClosed,
    /// The peer asks for this many connection IDs: give it some with
    /// [`give_connection_ids`](crate::Association::give_connection_ids), fewer, or none (RFC 9147 §9).
    ConnectionIdsRequested(u8),
    /// A message of a return routability check, which names no address: it concerns the one from which it came. A
    /// challenge must be answered there at once, with [`write_path_message`](crate::Association::write_path_message)
    /// (RFC 9853 §5.4).
    Path(PathMessage),
}

impl<Q> ReadEvent<Q> {
    /// Returns the question, or any other event: for drivers that are generic over the side.
    pub fn into_question(self) -> Result<Q, ReadEvent<Infallible>> {
        Err(match self {
            Self::Question(question) => return Ok(question),
            Self::NeedInput => ReadEvent::NeedInput,
            Self::OutputFull => ReadEvent::OutputFull,
            Self::WaitingForAnswer => ReadEvent::WaitingForAnswer,
            Self::Handshake(event) => ReadEvent::Handshake(event),
            Self::EarlyData(range) => ReadEvent::EarlyData(range),
            Self::EarlyDatagram(data) => ReadEvent::EarlyDatagram(data),
            Self::Data(range) => ReadEvent::Data(range),
            Self::PeerClosed => ReadEvent::PeerClosed,
            Self::ConnectionIdsRequested(count) => ReadEvent::ConnectionIdsRequested(count),
            Self::Path(message) => ReadEvent::Path(message),
        })
    }

    /// Returns whether the connection waits for something from outside.
    pub(super) fn waits(&self) -> bool {
        matches!(self, Self::NeedInput | Self::OutputFull | Self::WaitingForAnswer)
    }
}

impl ServerConnection {
    /// Waits for a client.
    #[must_use]
    pub fn start(config: Checked<ServerConfig>, now: Time) -> Self {
        let stream = Stream::new(Role::Server, &config.limits);
        Self::new(Core::server(config, Arrival::default(), &STREAM, now), stream)
    }
}

impl<H: Handshake> Connection<H> {
    /// Where data begins in a record, in bytes: behind the header.
    pub const DATA_AT: usize = HEADER_LEN;

    fn new(core: Core<H>, stream: Stream) -> Self {
        Self { core, stream, read_closed: false, write_closed: false, warnings: 0 }
    }

    /// Reads from `input`, decrypting in place, up to the next event.
    ///
    /// An error ends the connection; its alert is in the output and should still be sent.
    pub fn read(
        &mut self,
        now: Time,
        input: &mut [u8],
        output: &mut Output,
    ) -> Result<Progress<H::Question>, Error> {
        if let Some(error) = self.core.failure() {
            return Err(error.clone());
        }
        match self.read_on(now, input, output) {
            // Data already received is processed even after the deadline.
            Ok(progress) if progress.event.waits() && self.is_late(now) => {
                Err(self.fail(Error::TimedOut, output))
            }
            Err(error) => Err(self.fail(error, output)),
            progress => progress,
        }
    }

    fn read_on(
        &mut self,
        now: Time,
        input: &mut [u8],
        output: &mut Output,
    ) -> Result<Progress<H::Question>, Error> {
        let mut consumed = 0;
        loop {
            if let Some(event) = self.core.event() {
                if matches!(event, Event::HandshakeComplete) {
                    self.stream.release();
                    if self.write_closed {
                        self.core.end(Direction::Write);
                    }
                }
                return Ok(Progress { consumed, event: ReadEvent::Handshake(event) });
            }
            if self.core.is_suspended() {
                let question = self.core.question();
                let event = question.map_or(ReadEvent::WaitingForAnswer, ReadEvent::Question);
                return Ok(Progress { consumed, event });
            }
            let inside_message = !self.stream.reassembly.is_empty();
            if inside_message && self.messages(&[], now, output)? {
                continue;
            }
            if self.read_closed {
                return Ok(Progress { consumed: input.len(), event: ReadEvent::PeerClosed });
            }
            if output.is_full() {
                return Ok(Progress { consumed, event: ReadEvent::OutputFull });
            }

            let early = self.stream.incoming.epoch == Epoch::EarlyData;
            let (used, incoming) = self.stream.incoming.read(&mut input[consumed..])?;
            let begin = consumed + HEADER_LEN;
            consumed += used;
            match incoming {
                Incoming::Partial => {
                    return Ok(Progress { consumed, event: ReadEvent::NeedInput });
                }
                Incoming::Nothing => (),
                Incoming::Handshake(bytes) => {
                    let content = begin..begin + bytes.len();
                    self.messages(&input[content], now, output)?;
                }
                Incoming::Alert(_) | Incoming::Data(_) if inside_message => {
                    return Err(unexpected_message("a record between the parts of a message"));
                }
                Incoming::Alert(alert) => self.alert(alert)?,
                Incoming::Data([]) => (),
                Incoming::Data(data) => {
                    let data = begin..begin + data.len();
                    self.core.saw_data();
                    let event =
                        if early { ReadEvent::EarlyData(data) } else { ReadEvent::Data(data) };
                    return Ok(Progress { consumed, event });
                }
            }
        }
    }

    /// Hands whole messages to the handshake until one raises a question, and keeps the rest. Returns
    /// whether there were any.
    fn messages(&mut self, record: &[u8], now: Time, output: &mut Output) -> Result<bool, Error> {
        let mut batch = self.stream.reassembly.begin(record);
        while !self.core.is_suspended() {
            let epoch = self.stream.incoming.epoch;
            let longest = self.core.max_message();
            let Some(message) = self.stream.reassembly.next(&mut batch, longest)? else { break };
            let mut below = StreamBelow { stream: &mut self.stream, output };
            self.core.message(epoch, message, now, &mut below)?;
            if batch.is_empty() {
                break;
            }
        }
        self.stream.reassembly.end(batch)
    }

    fn alert(&mut self, alert: AlertDescription) -> Result<(), Error> {
        match alert {
            AlertDescription::CLOSE_NOTIFY if !self.core.is_complete() => {
                Err(Error::AlertReceived(alert))
            }
            AlertDescription::CLOSE_NOTIFY => {
                self.read_closed = true;
                self.stream.incoming.close();
                self.core.end(Direction::Read);
                Ok(())
            }
            AlertDescription::USER_CANCELED => {
                // RFC 8446 §6.1: a close_notify follows.
                self.warnings += 1;
                if self.warnings > MAX_WARNINGS {
                    return Err(unexpected_message("too many warnings"));
                }
                Ok(())
            }
            alert => Err(Error::AlertReceived(alert)),
        }
    }

    /// Answers a question.
    pub fn answer<Q: Question>(
        &mut self,
        token: Token<Q>,
        answer: Q::Answer,
        now: Time,
        output: &mut Output,
    ) -> Result<(), Error>
    where
        H::Question: From<OpenQuestion<Q>>,
    {
        if let Some(error) = self.core.failure() {
            return Err(error.clone());
        }
        let mut below = StreamBelow { stream: &mut self.stream, output };
        let result = self.core.answer(token, answer, now, &mut below);
        result.map_err(|error| if error.is_final() { self.fail(error, output) } else { error })
    }

    /// Returns whether application data may be written. A server may write once its flight is sent, before the
    /// client's Finished has authenticated the client.
    #[must_use]
    pub fn can_write(&self) -> bool {
        let has_keys = self.stream.outgoing.epoch == Epoch::Application;
        self.check_writable().is_ok() && has_keys && self.core.may_write()
    }

    /// Writes application data; returns how many bytes the output took. See
    /// [`can_write`](Self::can_write).
    pub fn write(&mut self, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        self.check_writable()?;
        if !self.can_write() {
            return Err(Error::TooEarly("no application data yet"));
        }
        let mut written = 0;
        while written < data.len() {
            if !self.prepare_keys(output)? {
                break;
            }
            let some = self.stream.outgoing.application_data(&data[written..], output);
            written += some;
            if some == 0 {
                break;
            }
        }
        Ok(written)
    }

    /// Returns how many bytes of application data one record of `room` bytes may hold, for
    /// [`write_in_place`](Self::write_in_place): 0 while none [can be written](Self::can_write).
    #[must_use]
    pub fn room_in_place(&self, room: usize) -> usize {
        if self.can_write() { self.stream.outgoing.data_in_place(room) } else { 0 }
    }

    /// Protects one record of application data where it lies: `len` bytes of it in `record`, from
    /// [`DATA_AT`](Self::DATA_AT) on. Returns the length of the record, which is to be sent after what is in the
    /// output, before anything that later calls add to it; 0 if the handshake must be complete first.
    ///
    /// For devices, which have no memory for a copy. [`write`](Self::write) copies, into records of any number.
    ///
    /// # Errors
    /// [`Error::Misuse`] if it is more than [`room_in_place`](Self::room_in_place) allows, or nothing; otherwise those
    /// of `write`.
    pub fn write_in_place(
        &mut self,
        record: &mut [u8],
        len: usize,
        output: &mut Output,
    ) -> Result<usize, Error> {
        self.check_writable()?;
        if !(1..=self.room_in_place(record.len())).contains(&len) {
            return Err(Error::Misuse("data that doesn't fit its record"));
        }
        if !self.prepare_keys(output)? {
            return Ok(0);
        }
        Ok(self.stream.outgoing.protect_in_place(record, len))
    }

    /// RFC 8446 §5.5: changes the keys before they are used up. Returns whether they can be used; a server can't change
    /// them before the client's Finished, so it waits.
    fn prepare_keys(&mut self, output: &mut Output) -> Result<bool, Error> {
        let used_up = self.stream.outgoing.nears_limit();
        if used_up && !self.core.is_complete() {
            return Ok(false);
        }
        if used_up || self.core.owes_update() {
            self.update_keys(used_up, output)?;
        }
        Ok(true)
    }

    /// Changes this side's keys, and with `request` asks the peer to change its own.
    pub fn update_keys(&mut self, request: bool, output: &mut Output) -> Result<(), Error> {
        self.check_writable()?;
        let mut below = StreamBelow { stream: &mut self.stream, output };
        self.core.update_keys(request, &mut below)
    }

    /// Sends close_notify: this side sends nothing more, and may continue to read.
    pub fn close(&mut self, output: &mut Output) {
        if !self.write_closed {
            self.write_closed = true;
            self.stream.send_alert(AlertDescription::CLOSE_NOTIFY, output);
            self.core.end(Direction::Write);
        }
    }

    /// Reports the end of the peer's stream. Without a preceding close_notify data may be
    /// missing: [`Error::Truncated`].
    pub fn end_of_stream(&mut self) -> Result<(), Error> {
        if let Some(error) = self.core.failure() {
            return Err(error.clone());
        }
        if self.read_closed {
            return Ok(());
        }
        // Nothing is sent after an error, close_notify included.
        Err(self.end(Error::Truncated))
    }

    /// Ends the connection because the owner has withdrawn what it rests on; returns the error, as later calls do.
    ///
    /// The alert is appended to the output. To withhold unsent output, drop it first ([`Output::consume`]); the peer
    /// then can't decrypt the alert.
    pub fn refuse(&mut self, why: PeerRejected, output: &mut Output) -> Error {
        match self.core.failure() {
            Some(error) => error.clone(),
            None => self.fail(Error::PeerRejected(why), output),
        }
    }

    /// Exports keying material (RFC 8446 §7.5), of up to 255 hash outputs. The label has at most 249
    /// bytes. When both directions have ended, the secret is gone: [`Error::Closed`], or the error that
    /// ended the connection.
    pub fn export_keying_material(
        &mut self,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        self.core.export_keying_material(label, context, out)
    }

    /// Returns when [`read`](Self::read) must be called even if nothing arrived, on the monotonic clock. If the
    /// handshake still waits then, it fails with [`Error::TimedOut`]. First read what has arrived: it may
    /// complete the handshake.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.core.deadline()
    }

    /// Returns what is known of the connection.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.core.facts()
    }

    /// Ends the connection: sends the alert for the error, and keeps the error.
    fn fail(&mut self, error: Error, output: &mut Output) -> Error {
        if let Some(alert) = error.alert()
            && !self.write_closed
        {
            self.stream.send_alert(alert, output);
        }
        self.end(error)
    }

    /// Ends the connection without an alert: stops sending and reading, drops all secrets, keeps the error.
    fn end(&mut self, error: Error) -> Error {
        self.write_closed = true;
        self.read_closed = true;
        self.stream.outgoing.close();
        self.stream.incoming.close();
        self.core.fail(error)
    }

    fn is_late(&self, now: Time) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now.monotonic)
    }

    fn check_writable(&self) -> Result<(), Error> {
        match self.core.failure() {
            Some(error) => Err(error.clone()),
            None if self.write_closed => Err(Error::Closed),
            None => Ok(()),
        }
    }
}
