//! A transport that is the peer itself: a server that sends back what it gets.

use embedded_io::{ErrorKind, ErrorType, Read, Write};
use tessera::handshake::Checked;
use tessera::{Clock, Output, ReadEvent, ServerConfig, ServerConnection, Time};

use crate::ends::TestClock;

/// What each call moves at most, and what goes wrong.
pub struct Peer {
    pub connection: ServerConnection,
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
    /// How many bytes it has sent.
    pub sent: usize,
    /// Whether it closes when the client has.
    pub is_closed: bool,
}

impl Peer {
    pub fn new(config: &Checked<ServerConfig>) -> Self {
        Self {
            connection: ServerConnection::start(config.clone(), now()),
            input: Vec::new(),
            output: Output::new(),
            data: Vec::new(),
            error: None,
            at_once: usize::MAX,
            ends_after: usize::MAX,
            stalls_after: usize::MAX,
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
        assert_eq!(self.connection.write(data, &mut self.output), Ok(data.len()));
    }

    pub fn update_keys(&mut self) {
        self.connection.update_keys(true, &mut self.output).unwrap();
    }

    pub fn close(&mut self) {
        self.connection.close(&mut self.output);
    }
}

fn now() -> Time {
    TestClock::default().now()
}

impl ErrorType for Peer {
    type Error = ErrorKind;
}

impl Write for Peer {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        let count = bytes.len().min(self.at_once);
        self.input.extend_from_slice(&bytes[..count]);
        self.run();
        Ok(count)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Read for Peer {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        assert!(!buffer.is_empty(), "there is always room where more is asked for");
        if self.sent >= self.ends_after {
            return Ok(0);
        }
        let most = self.ends_after.min(self.stalls_after) - self.sent;
        let bytes = self.output.as_slice();
        let count = bytes.len().min(buffer.len()).min(self.at_once).min(most);
        if count == 0 {
            return Err(ErrorKind::TimedOut);
        }
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.output.consume(count);
        self.sent += count;
        self.run();
        Ok(count)
    }
}
