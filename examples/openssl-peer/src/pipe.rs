//! The network as OpenSSL sees it: memory.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

/// One end of a stream in memory; OpenSSL reads and writes it.
#[derive(Debug, Default)]
pub struct Pipe {
    incoming: VecDeque<u8>,
    outgoing: Vec<u8>,
}

impl Pipe {
    /// Bytes arrive.
    pub fn deliver(&mut self, bytes: &[u8]) {
        self.incoming.extend(bytes);
    }

    /// Takes the output since the last call.
    pub fn collect(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outgoing)
    }
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.incoming.read(out)? {
            0 if !out.is_empty() => Err(ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
