//! Streams over transports that block.

use embedded_io::{Read, Write};
use tessera::handshake::Handshake;

use crate::error::Error;
use crate::machine::{Goal, Step};
use crate::stream::TlsStream;

impl<IO: Read + Write, H: Handshake> TlsStream<'_, IO, H> {
    /// Completes the handshake. At a server it also returns once early data waits: when that is read, reading on completes
    /// the handshake, or another call.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn handshake_blocking(&mut self) -> Result<(), Error<IO::Error>> {
        self.drive_blocking(Goal::Handshake)
    }

    /// Sends what waits, then close_notify: this side sends nothing more, and may continue to read. The transport stays
    /// open. A server whose flight is made completes its handshake first, so that its tickets are sent.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn close_blocking(&mut self) -> Result<(), Error<IO::Error>> {
        self.drive_blocking(Goal::Close)
    }

    /// The same as [`drive`](Self::drive).
    fn drive_blocking(&mut self, goal: Goal) -> Result<(), Error<IO::Error>> {
        let Self { io, machine, .. } = self;
        loop {
            match machine.next(goal)? {
                Step::Done => return Ok(()),
                Step::Send => {
                    let result = io.write(machine.to_send());
                    machine.sent(result)?;
                }
                Step::Flush => machine.flushed(io.flush())?,
                Step::Receive => {
                    let result = io.read(machine.room());
                    machine.received(result)?;
                }
            }
        }
    }
}

impl<IO: Read + Write, H: Handshake> Read for TlsStream<'_, IO, H> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        if !buffer.is_empty() {
            self.drive_blocking(Goal::Data)?;
        }
        Ok(self.take_plain(buffer))
    }
}

impl<IO: Read + Write, H: Handshake> Write for TlsStream<'_, IO, H> {
    fn write(&mut self, data: &[u8]) -> Result<usize, Self::Error> {
        if !data.is_empty() {
            self.drive_blocking(Goal::Room)?;
        }
        Ok(self.machine.add(data))
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.drive_blocking(Goal::Flush)
    }
}
