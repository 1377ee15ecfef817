//! The server's end.

use alloc::sync::Arc;

use embedded_io::{ErrorType, Read, Write};
use tessera::handshake::Checked;
use tessera::{Clock, ServerConfig, ServerConnection};

use crate::buffers::{Buffers, Records};
use crate::error::Error;
use crate::machine::Machine;
use crate::outgoing::Outgoing;
use crate::stream::ServerStream;

/// Accepts clients. Cheap to clone.
#[derive(Clone)]
pub struct Acceptor {
    config: Checked<ServerConfig>,
    clock: Arc<dyn Clock>,
}

impl Acceptor {
    /// Accepts with this configuration. Without the date, tickets are neither issued nor accepted.
    pub fn new(config: Checked<ServerConfig>, clock: Arc<dyn Clock>) -> Self {
        Self { config, clock }
    }

    /// Accepts a client; ready when the handshake is complete, or early data waits: see
    /// [`handshake`](ServerStream::handshake).
    ///
    /// # Errors
    /// See [`Error`]. The transport is lost; lend it (`&mut`) to keep it.
    #[cfg(feature = "async")]
    pub async fn accept<'b, IO>(
        &self,
        io: IO,
        buffers: Buffers<'b>,
    ) -> Result<ServerStream<'b, IO>, Error<IO::Error>>
    where
        IO: embedded_io_async::Read + embedded_io_async::Write,
    {
        let mut stream = self.start(io, buffers)?;
        stream.handshake().await?;
        Ok(stream)
    }

    /// Accepts a client over a transport that blocks; returns when the handshake is complete, or early data waits: see
    /// [`handshake_blocking`](ServerStream::handshake_blocking).
    ///
    /// # Errors
    /// See [`Error`]. The transport is lost; lend it (`&mut`) to keep it.
    pub fn accept_blocking<'b, IO: Read + Write>(
        &self,
        io: IO,
        buffers: Buffers<'b>,
    ) -> Result<ServerStream<'b, IO>, Error<IO::Error>> {
        let mut stream = self.start(io, buffers)?;
        stream.handshake_blocking()?;
        Ok(stream)
    }

    /// Returns a client's stream before anything is read from it.
    ///
    /// # Errors
    /// A buffer or the heap is too small ([`OutOfMemory`](tessera::Error::OutOfMemory) with how many bytes must be free).
    pub fn start<'b, IO: ErrorType>(
        &self,
        io: IO,
        buffers: Buffers<'b>,
    ) -> Result<ServerStream<'b, IO>, Error<IO::Error>> {
        let config = self.config.clone();
        let records = Records { limit: config.record_size_limit, padding: config.padding };
        buffers.check(records).map_err(Error::Buffer)?;
        config.check_heap().map_err(Error::Tls)?;
        let Buffers { input, output } = buffers;
        let connection = ServerConnection::start(config, self.clock.now());
        let outgoing = Outgoing::new(output);
        let machine = Machine::new(connection, input, outgoing, self.clock.clone(), None);
        Ok(ServerStream::new(io, machine))
    }
}
