//! One end of a connection, with its buffers.

use tessera::handshake::Handshake;
use tessera::{Connection, Error, Event, Output, ReadEvent};

use crate::settings::{NOW, RECORD};

/// The longest record: its content, its header, and what protection adds (RFC 8446 §5.2).
const LONGEST: usize = RECORD as usize + 5 + 256;

/// Room for one record. A ClientHello with two of the longest shares, or with what is encapsulated to a known key, is longer:
/// the server's limit isn't known yet.
const INPUT: usize = if cfg!(feature = "suites") {
    8 * 1024
} else if cfg!(feature = "kem-pinned") {
    LONGEST + 1024
} else {
    LONGEST
};

/// What an end has received and not read.
pub struct Input {
    bytes: [u8; INPUT],
    len: usize,
}

impl Input {
    pub const fn new() -> Self {
        Self { bytes: [0; INPUT], len: 0 }
    }

    /// Returns where the next bytes go.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.len..]
    }

    pub fn received(&mut self, count: usize) {
        self.len += count;
    }

    /// Moves as much of the other end's output here as there is room for; returns how much.
    pub fn take_from(&mut self, output: &mut Output) -> usize {
        let count = output.as_slice().len().min(self.room().len()).min(LONGEST);
        self.room()[..count].copy_from_slice(&output.as_slice()[..count]);
        self.received(count);
        output.consume(count);
        count
    }
}

/// What has happened at an end.
#[derive(Default, Clone, Copy)]
pub struct Progress {
    pub is_complete: bool,
    /// How much data has come, in bytes.
    pub data: usize,
    pub is_closed: bool,
}

/// Reads until more must come.
pub fn read<H: Handshake>(
    connection: &mut Connection<H>,
    input: &mut Input,
    output: &mut Output,
    progress: &mut Progress,
) -> Result<(), Error> {
    loop {
        let step = connection.read(NOW, &mut input.bytes[..input.len], output)?;
        let goes_on = match step.event {
            ReadEvent::Handshake(Event::HandshakeComplete) => {
                progress.is_complete = true;
                true
            }
            ReadEvent::Data(data) => {
                progress.data += data.len();
                true
            }
            ReadEvent::PeerClosed => {
                progress.is_closed = true;
                false
            }
            ReadEvent::NeedInput | ReadEvent::OutputFull | ReadEvent::WaitingForAnswer => false,
            _ => true,
        };
        input.bytes.copy_within(step.consumed..input.len, 0);
        input.len -= step.consumed;
        if !goes_on {
            return Ok(());
        }
    }
}
