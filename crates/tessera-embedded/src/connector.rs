//! The client's end.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hint::black_box;

use embedded_io::{ErrorType, Read, Write};
use tessera::handshake::Checked;
#[cfg(feature = "sessions")]
use tessera::resume::SessionStore;
use tessera::{ClientConfig, ClientConnection, Clock, Destination, Error as TlsError};

use crate::buffers::{Buffers, Records};
use crate::error::Error;
use crate::machine::Machine;
use crate::outgoing::Outgoing;
use crate::sessions::Store;
use crate::stream::ClientStream;

/// Connects to servers. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    config: Checked<ClientConfig>,
    clock: Arc<dyn Clock>,
    sessions: Option<Store>,
}

impl Connector {
    /// Connects with this configuration. The clock may be monotonic alone, without the date; what that forbids is with
    /// [`Time::unix`](tessera::Time::unix).
    pub fn new(config: Checked<ClientConfig>, clock: Arc<dyn Clock>) -> Self {
        Self { config, clock, sessions: None }
    }

    /// Takes sessions from this store, and puts new ones into it, while it reads.
    #[cfg(feature = "sessions")]
    pub fn with_sessions(mut self, sessions: Arc<dyn SessionStore>) -> Self {
        self.sessions = Some(Store(sessions));
        self
    }

    /// Connects over a transport; ready when the handshake is complete.
    ///
    /// # Errors
    /// See [`Error`]. The transport is lost; lend it (`&mut`) to keep it.
    #[cfg(feature = "async")]
    pub async fn connect<'b, IO>(
        &self,
        destination: Destination,
        io: IO,
        buffers: Buffers<'b>,
    ) -> Result<ClientStream<'b, IO>, Error<IO::Error>>
    where
        IO: embedded_io_async::Read + embedded_io_async::Write,
    {
        let mut stream = self.start(destination, io, buffers)?;
        stream.handshake().await?;
        Ok(stream)
    }

    /// Connects over a transport that blocks; returns when the handshake is complete.
    ///
    /// # Errors
    /// See [`Error`]. The transport is lost; lend it (`&mut`) to keep it.
    pub fn connect_blocking<'b, IO: Read + Write>(
        &self,
        destination: Destination,
        io: IO,
        buffers: Buffers<'b>,
    ) -> Result<ClientStream<'b, IO>, Error<IO::Error>> {
        let mut stream = self.start(destination, io, buffers)?;
        stream.handshake_blocking()?;
        Ok(stream)
    }

    /// Starts a connection and returns its stream before anything is sent: for
    /// [`write_early`](ClientStream::write_early), or for a handshake whose future may be dropped.
    ///
    /// A session that was taken from the store for a connection is used up with it.
    ///
    /// # Errors
    /// A buffer or the heap is too small ([`TlsError::OutOfMemory`] with how many bytes must be free), or the configuration
    /// doesn't fit the destination.
    // Not inlined: its stack is free again for the handshake.
    #[inline(never)]
    pub fn start<'b, IO: ErrorType>(
        &self,
        mut destination: Destination,
        io: IO,
        buffers: Buffers<'b>,
    ) -> Result<ClientStream<'b, IO>, Error<IO::Error>> {
        // A session isn't worth a connection that can't be made.
        let records =
            Records { limit: self.config.record_size_limit, padding: self.config.padding };
        buffers.check(records).map_err(Error::Buffer)?;
        check_heap(self.needed(&destination)).map_err(Error::Tls)?;
        let sessions = self.sessions.as_ref();
        let sessions = sessions.map(|store| store.with(destination.server_name.clone()));
        if let Some(sessions) = sessions.as_ref().filter(|_| destination.session.is_none()) {
            destination.session = sessions.take(&self.config, &destination);
            // It makes the hello longer. Without memory for that, the connection goes without it.
            if destination.session.is_some() && check_heap(self.needed(&destination)).is_err() {
                destination.session = None;
            }
        }
        destination.clock.get_or_insert_with(|| self.clock.clone());
        let Buffers { input, output } = buffers;
        let mut outgoing = Outgoing::new(output);
        let (config, now, messages) =
            (self.config.clone(), self.clock.now(), &mut outgoing.messages);
        let connection =
            ClientConnection::start(config, destination, now, messages).map_err(Error::Tls)?;
        let machine = Machine::new(connection, input, outgoing, self.clock.clone(), sessions);
        Ok(ClientStream::new(io, machine))
    }

    /// Returns how much heap a connection takes, in bytes: the engine's, and the name under which its sessions are stored.
    fn needed(&self, destination: &Destination) -> usize {
        let name = self.sessions.as_ref().map_or(0, |_| destination.server_name.len());
        self.config.heap_needed(destination) + name
    }
}

/// Checks that so many bytes of the heap are free in one block.
fn check_heap(needed: usize) -> Result<(), TlsError> {
    let mut block = Vec::<u8>::new();
    block.try_reserve_exact(needed).map_err(|_| TlsError::OutOfMemory(needed))?;
    // An allocation that is never used may be optimized away, and then always succeeds.
    black_box(&mut block);
    Ok(())
}
