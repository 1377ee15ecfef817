//! A connection of the engine over a socket, and its cost.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::Duration;

use tessera::handshake::Handshake;
use tessera::{Connection, Error, Output, ReadEvent, Time};
use tessera_tokio::fast_open::syn_data_was_taken;

use super::configuration::PATIENCE;
use super::dial;
use super::pipes::Result;
use crate::clock;
use crate::control::Cost;
use crate::heap::{self, difference};
use tessera_adversary::Capture;

/// A socket with its input and output.
pub(crate) struct Wire {
    stream: TcpStream,
    input: Vec<u8>,
    /// The part of the input that was received and not read yet.
    unread: Range<usize>,
    /// Where the last read began.
    read_from: usize,
    output: Output,
    /// When the last bytes came.
    arrived: Option<Duration>,
    engine_cpu: Duration,
    sent: u64,
    /// Bytes sent before anything was received.
    first_flight: u64,
    /// Those of them that left in the SYN.
    syn_bytes: u64,
    /// The recording of the adversary on the path, if there is one.
    capture: Option<Capture>,
}

/// Holds the largest record, and the rest of its last segment.
const INPUT_LEN: usize = 24 * 1024;

impl Wire {
    pub(crate) fn new(stream: TcpStream, recorded: bool) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            input: vec![0; INPUT_LEN],
            unread: 0..0,
            read_from: 0,
            output: Output::new(),
            arrived: None,
            engine_cpu: Duration::ZERO,
            sent: 0,
            first_flight: 0,
            syn_bytes: 0,
            capture: recorded.then(Capture::default),
        })
    }

    /// Calls the engine, and counts the processor time.
    pub(crate) fn engine<T>(
        &mut self,
        call: impl FnOnce(Time, &mut Output) -> std::result::Result<T, Error>,
    ) -> Result<T> {
        let now = clock::engine_time()?;
        let started = clock::thread_cpu()?;
        let result = call(now, &mut self.output);
        self.count(started)?;
        Ok(result?)
    }

    /// Waits for an event: `None` when the peer sends nothing more, with or without close_notify. Data is in
    /// [`bytes`](Self::bytes). Pending output is sent first, in one write.
    pub(crate) fn next<H: Handshake>(
        &mut self,
        connection: &mut Connection<H>,
    ) -> Result<Option<ReadEvent<H::Question>>> {
        self.next_after(connection, |_, _| Ok(()))
    }

    /// The same; calls `before_waiting` whenever the peer must send something first, for what may go out with the output
    /// that is pending.
    pub(crate) fn next_after<H: Handshake>(
        &mut self,
        connection: &mut Connection<H>,
        mut before_waiting: impl FnMut(&mut Connection<H>, &mut Output) -> Result<()>,
    ) -> Result<Option<ReadEvent<H::Question>>> {
        loop {
            let now = clock::engine_time()?;
            let started = clock::thread_cpu()?;
            let unread = &mut self.input[self.unread.clone()];
            let result = connection.read(now, unread, &mut self.output);
            self.count(started)?;
            let progress = match result {
                Ok(progress) => progress,
                Err(error) => {
                    // The alert should be sent; a failure adds nothing to this error.
                    let _ = self.send();
                    return Err(error.into());
                }
            };
            let begin = self.unread.start;
            self.unread.start += progress.consumed;
            match progress.event {
                ReadEvent::PeerClosed => return Ok(None),
                ReadEvent::OutputFull => self.send()?,
                ReadEvent::NeedInput => {
                    let started = clock::thread_cpu()?;
                    before_waiting(connection, &mut self.output)?;
                    self.count(started)?;
                    self.send()?;
                    if !self.receive()? {
                        return Ok(None);
                    }
                }
                ReadEvent::Question(_) | ReadEvent::WaitingForAnswer => {
                    return Err("the engine asks what its configuration should answer".into());
                }
                event => {
                    self.read_from = begin;
                    return Ok(Some(event));
                }
            }
        }
    }

    /// Counts what the engine used since `started`, without the cost of the clock: otherwise an end that calls it more
    /// often would seem slower.
    fn count(&mut self, started: Duration) -> Result<()> {
        let used = clock::thread_cpu()?.saturating_sub(started);
        self.engine_cpu += used.saturating_sub(clock::thread_cpu_cost());
        Ok(())
    }

    /// Returns the bytes of a range that the last event named.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.input[self.read_from + range.start..self.read_from + range.end]
    }

    /// Sends pending output, in one write.
    pub(crate) fn send(&mut self) -> Result<()> {
        let bytes = self.output.as_slice();
        if bytes.is_empty() {
            return Ok(());
        }
        if self.sent == 0 {
            self.syn_bytes = dial::open(&mut self.stream, bytes)? as u64;
        } else {
            self.stream.write_all(bytes)?;
        }
        if let Some(capture) = &mut self.capture {
            capture.sent.extend_from_slice(bytes);
            if capture.received.is_empty() {
                capture.first_flight = capture.sent.len();
            }
        }
        let count = bytes.len();
        self.sent += count as u64;
        self.output.consume(count);
        Ok(())
    }

    /// Returns how the connection began: the bytes of the first flight, those in the SYN, and whether the server
    /// accepted these.
    pub(crate) fn beginning(&self) -> (u64, u64, bool) {
        let taken = syn_data_was_taken(&self.stream).unwrap_or(false);
        (self.first_flight, self.syn_bytes, taken)
    }

    /// Returns when the bytes arrived that came last.
    pub(super) fn arrived(&self) -> Option<Duration> {
        self.arrived
    }

    /// Returns how many bytes were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns how many bytes were written, sent or not.
    pub(crate) fn written(&self) -> u64 {
        self.sent + self.output.as_slice().len() as u64
    }

    /// Returns the pending output.
    pub(super) fn unsent(&self) -> &[u8] {
        self.output.as_slice()
    }

    /// Waits for bytes; returns whether there may be more.
    fn receive(&mut self) -> Result<bool> {
        self.input.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let count = loop {
            match self.stream.read(&mut self.input[self.unread.end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err("the peer was silent for too long".into());
                }
                result => break result?,
            }
        };
        self.arrived = Some(clock::monotonic()?);
        let received = self.unread.end..self.unread.end + count;
        self.unread.end = received.end;
        if self.first_flight == 0 {
            self.first_flight = self.sent;
        }
        if let Some(capture) = &mut self.capture {
            capture.received.extend_from_slice(&self.input[received]);
        }
        Ok(count > 0)
    }

    /// Sends close_notify, and returns the cost of the connection. `process_cpu` is what the process had used before
    /// the connection.
    pub(crate) fn close<H: Handshake>(
        mut self,
        mut connection: Box<Connection<H>>,
        process_cpu: Duration,
    ) -> Result<(Cost, Option<Capture>)> {
        self.engine(|_, output| {
            connection.close(output);
            Ok(())
        })?;
        // The peer may be gone already, after its own close_notify.
        let _ = self.send();
        let process_cpu = clock::process_cpu()?.saturating_sub(process_cpu);
        let heap = self.measure_heap(connection)?;
        let cost = Cost { engine_cpu: self.engine_cpu, process_cpu, sent: self.sent, heap };
        Ok((cost, self.capture))
    }

    /// Returns the memory of an idle connection: what dropping it and its output frees. The input buffer does not
    /// count, since its owner may share one among connections.
    fn measure_heap<H: Handshake>(
        &mut self,
        connection: Box<Connection<H>>,
    ) -> Result<Option<i64>> {
        self.output.release();
        let before = heap::held_if_counted()?;
        drop(connection);
        self.output = Output::new();
        Ok(difference(before, heap::held_if_counted()?))
    }
}
