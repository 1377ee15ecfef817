//! A transport that is the peer itself, outside of the device's heap.

use std::sync::Arc;

use embedded_io::{ErrorKind, ErrorType, Read, Write};
use tessera::handshake::{Checked, ClientHandshake, Handshake, ServerHandshake};
use tessera::{
    ClientConfig, ClientConnection, Clock, Connection, Destination, Output, ReadEvent,
    ServerConfig, ServerConnection, Time,
};
use tessera_heap_tests::off_heap;

use crate::ends::TestClock;

/// What each call moves at most, and what goes wrong.
pub struct Peer<H: Handshake = ServerHandshake> {
    pub connection: Connection<H>,
    pub input: Vec<u8>,
    pub output: Output,
    /// What it has received.
    pub data: Vec<u8>,
    pub error: Option<tessera::Error>,
    /// How many bytes a call moves.
    pub at_once: usize,
    /// After so many bytes its stream ends.
    pub ends_after: usize,
    /// After so many bytes it sends nothing more.
    pub stalls_after: usize,
    /// Its hello has a record for each byte.
    pub shatters: bool,
    /// Each byte that it sends takes a second.
    pub slow: Option<Arc<TestClock>>,
    /// What it sends before anything else.
    pub forged: Vec<u8>,
    /// How many bytes it has sent.
    pub sent: usize,
    /// Whether it closes when the client has.
    pub is_closed: bool,
}

impl Peer {
    pub fn new(config: &Checked<ServerConfig>) -> Self {
        // A chain of any length fits.
        let output = Output::with_limit(1 << 20);
        Self::with(ServerConnection::start(config.clone(), now()), output)
    }
}

impl Peer<ClientHandshake> {
    pub fn client(config: &Checked<ClientConfig>, to: Destination) -> Self {
        let mut output = Output::with_limit(1 << 20);
        let connection = ClientConnection::start(config.clone(), to, now(), &mut output).unwrap();
        Self::with(connection, output)
    }
}

impl<H: Handshake> Peer<H> {
    fn with(connection: Connection<H>, output: Output) -> Self {
        Self {
            connection,
            input: Vec::new(),
            output,
            data: Vec::new(),
            error: None,
            at_once: usize::MAX,
            ends_after: usize::MAX,
            stalls_after: usize::MAX,
            shatters: false,
            slow: None,
            forged: Vec::new(),
            sent: 0,
            is_closed: false,
        }
    }

    fn run(&mut self) {
        while self.error.is_none() {
            match self.connection.read(now(), &mut self.input, &mut self.output) {
                Ok(progress) => {
                    let mut goes_on = true;
                    match progress.event {
                        ReadEvent::Data(data) => self.data.extend_from_slice(&self.input[data]),
                        ReadEvent::NeedInput | ReadEvent::OutputFull => goes_on = false,
                        ReadEvent::PeerClosed => {
                            self.is_closed = true;
                            goes_on = false;
                        }
                        _ => (),
                    }
                    self.input.drain(..progress.consumed);
                    if !goes_on {
                        return;
                    }
                }
                Err(error) => self.error = Some(error),
            }
        }
    }

    pub fn send(&mut self, data: &[u8]) {
        let sent = off_heap(|| self.connection.write(data, &mut self.output));
        assert_eq!(sent, Ok(data.len()));
    }

    /// Takes what is sent next.
    fn next(&mut self, most: usize) -> Vec<u8> {
        if self.shatters
            && let [22, _, _, high, low, ..] = *self.output.as_slice()
        {
            let len = usize::from(u16::from_be_bytes([high, low]));
            for byte in &self.output.as_slice()[5..][..len] {
                self.forged.extend_from_slice(&[22, 3, 3, 0, 1, *byte]);
            }
            self.output.consume(5 + len);
            self.shatters = false;
        }
        if self.forged.is_empty() {
            let bytes = self.output.as_slice();
            let bytes = bytes[..bytes.len().min(most)].to_vec();
            self.output.consume(bytes.len());
            return bytes;
        }
        self.forged.drain(..self.forged.len().min(most)).collect()
    }

    pub fn update_keys(&mut self) {
        self.connection.update_keys(true, &mut self.output).unwrap();
    }

    pub fn close(&mut self) {
        off_heap(|| self.connection.close(&mut self.output));
    }
}

fn now() -> Time {
    TestClock::default().now()
}

impl<H: Handshake> ErrorType for Peer<H> {
    type Error = ErrorKind;
}

impl<H: Handshake> Write for Peer<H> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        let count = bytes.len().min(self.at_once);
        off_heap(|| {
            self.input.extend_from_slice(&bytes[..count]);
            self.run();
        });
        Ok(count)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl<H: Handshake> Read for Peer<H> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        assert!(!buffer.is_empty(), "there is always room where more is asked for");
        if self.sent >= self.ends_after {
            return Ok(0);
        }
        let at_once = if self.slow.is_some() { 1 } else { self.at_once };
        let most = (self.ends_after.min(self.stalls_after) - self.sent).min(at_once);
        let count = off_heap(|| {
            let bytes = self.next(most.min(buffer.len()));
            buffer[..bytes.len()].copy_from_slice(&bytes);
            bytes.len()
        });
        if count == 0 {
            return Err(ErrorKind::TimedOut);
        }
        if let Some(clock) = &self.slow {
            clock.advance(1);
        }
        self.sent += count;
        off_heap(|| self.run());
        Ok(count)
    }
}
