//! Streams over transports that are awaited.

use embedded_io_async::{Read, Write};
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
    pub async fn handshake(&mut self) -> Result<(), Error<IO::Error>> {
        self.drive(Goal::Handshake).await
    }

    /// Sends what waits, then close_notify: this side sends nothing more, and may continue to read. The transport stays
    /// open. A server whose flight is made completes its handshake first, so that its tickets are sent.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn close(&mut self) -> Result<(), Error<IO::Error>> {
        self.drive(Goal::Close).await
    }

    /// Does what the machine asks of the transport, until the goal is reached. What a future of the transport did is noted
    /// when it is ready, so nothing is lost if this one is dropped.
    async fn drive(&mut self, goal: Goal) -> Result<(), Error<IO::Error>> {
        let Self { io, machine, .. } = self;
        loop {
            match machine.next(goal)? {
                Step::Done => return Ok(()),
                Step::Send => {
                    let result = io.write(machine.to_send()).await;
                    machine.sent(result)?;
                }
                Step::Flush => machine.flushed(io.flush().await)?,
                Step::Receive => {
                    let result = io.read(machine.room()).await;
                    machine.received(result)?;
                }
            }
        }
    }
}

impl<IO: Read + Write, H: Handshake> Read for TlsStream<'_, IO, H> {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        if !buffer.is_empty() {
            self.drive(Goal::Data).await?;
        }
        Ok(self.take_plain(buffer))
    }
}

impl<IO: Read + Write, H: Handshake> Write for TlsStream<'_, IO, H> {
    async fn write(&mut self, data: &[u8]) -> Result<usize, Self::Error> {
        if !data.is_empty() {
            self.drive(Goal::Room).await?;
        }
        Ok(self.machine.add(data))
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.drive(Goal::Flush).await
    }
}
