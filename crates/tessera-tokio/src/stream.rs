//! The stream that an application reads and writes.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tessera::handshake::{ClientHandshake, EarlyDataStatus, ServerHandshake};
use tessera::resume::PskKind;
use tessera::{Error, Facts, Role};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf};
use tokio::time::timeout_at;

use crate::async_handshake::AsyncHandshake;
use crate::driver::{Driver, Goal};
use crate::error::wrap;
use crate::machine::{Machine, Step};
use crate::wakers::Half;
use crate::watch::HandshakeWatch;

/// A client's stream.
pub type ClientStream<IO> = TlsStream<IO, ClientHandshake>;

/// A server's stream.
pub type ServerStream<IO> = TlsStream<IO, ServerHandshake>;

/// A TLS connection over a stream, as [`AsyncRead`] and [`AsyncWrite`].
///
/// - Dropping a future that reads, writes or performs the handshake loses nothing: all state is in the
///   stream. Only a future that *owns* the stream drops it too.
/// - A stream may be read and written before its handshake is complete; both drive the handshake.
/// - After the peer's close_notify, reads return 0 bytes and writes still work. If the connection ends
///   without it, the error is [`UnexpectedEof`](io::ErrorKind::UnexpectedEof): data may be missing.
/// - `shutdown` sends close_notify and ends this side's direction; reads still work. A server whose flight is
///   built completes its handshake first, so that its tickets are sent.
/// - TLS errors are [`tessera::Error`]s inside [`io::Error`]s. Before one is returned, the alert is sent as
///   far as possible: the error waits for the peer's end too, for at most a second.
/// - Reading answers key updates and takes tickets; a client that never reads gets no sessions.
/// - Under TCP, `TCP_NODELAY` should be set: the stream already batches what belongs together.
///
/// ```
/// use std::io;
/// use tessera_tokio::ServerStream;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::TcpStream;
///
/// async fn echo(mut stream: ServerStream<TcpStream>) -> io::Result<()> {
///     let mut buffer = [0; 4096];
///     loop {
///         let count = stream.read(&mut buffer).await?;
///         if count == 0 {
///             return stream.shutdown().await;
///         }
///         stream.write_all(&buffer[..count]).await?;
///     }
/// }
/// ```
pub struct TlsStream<IO, S: AsyncHandshake> {
    pub(crate) driver: Driver<IO, S>,
    /// Client only: the offset in the sent bytes at which the early data begins.
    pub(crate) early_data_from: Option<u64>,
    /// The last read returned early data.
    is_early: bool,
    /// close_notify was sent.
    is_shut_down: bool,
}

impl<IO: AsyncRead + AsyncWrite + Unpin, S: AsyncHandshake> TlsStream<IO, S> {
    pub(crate) fn new(io: IO, machine: Machine<S>) -> Self {
        Self {
            driver: Driver::new(io, machine),
            early_data_from: None,
            is_early: false,
            is_shut_down: false,
        }
    }

    /// Waits until the handshake is complete. Early data that arrives meanwhile is kept to be read.
    pub async fn handshake(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.driver.poll_handshake(Half::Read, Goal::Complete, cx)).await?;
        if S::ROLE == Role::Client {
            // The server can't complete its handshake before it has this.
            let deadline = self.driver.machine.latest_completion;
            let sent = poll_fn(|cx| self.driver.poll_send(Half::Read, cx));
            timeout_at(deadline, sent).await.map_err(|_| wrap(Error::TimedOut))?;
        }
        Ok(())
    }

    /// Waits until application data can be written: on a server as soon as its flight is made, half a
    /// round trip before the handshake is complete. See
    /// [`Acceptor::accept_early`](crate::Acceptor::accept_early).
    pub async fn writable(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.driver.poll_handshake(Half::Read, Goal::Writable, cx)).await
    }

    /// Returns whether the handshake is complete.
    pub fn is_handshake_complete(&self) -> bool {
        self.driver.machine.complete
    }

    /// Returns the generation of the configuration that it began with: see
    /// [`Acceptor::generation`](crate::Acceptor::generation) and
    /// [`Connector::generation`](crate::Connector::generation).
    pub fn generation(&self) -> u64 {
        self.driver.machine.begun.generation
    }

    /// Returns whether what the connection depends on was withdrawn: the peer was accepted by a verifier that
    /// is no longer valid, or in another policy epoch, or its external PSK was removed or has another secret.
    /// A complete connection continues nevertheless; its owner may end it.
    pub fn is_withdrawn(&self) -> bool {
        self.driver.machine.begun.is_withdrawn(self.facts())
    }

    /// Returns what is known of the connection: protocol, peer, suite, outcome of early data.
    pub fn facts(&self) -> &Facts {
        self.driver.machine.connection.facts()
    }

    /// Returns the application protocol (RFC 7301).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.facts().protocol.as_deref()
    }

    /// Returns whether the last read returned early data. No read mixes early data with later data.
    ///
    /// Until the handshake is complete, replayable early data may not come from this connection's client;
    /// forward-secret early data is accepted at most once in any case. It may be a prefix of what the client
    /// sent, if an attacker on the path held the rest back: it must be self-delimiting.
    pub fn is_early(&self) -> bool {
        self.is_early
    }

    /// Returns a handle that reports whether the handshake is complete, independent of the stream.
    pub fn handshake_watch(&mut self) -> HandshakeWatch {
        let facts = self.facts();
        let replayable = facts.early_data == EarlyDataStatus::Accepted
            && facts.psk != Some(PskKind::ForwardSecret);
        let machine = &mut self.driver.machine;
        machine.completion.watch(machine.complete, replayable)
    }

    /// Exports keying material (RFC 8446 §7.5) once the handshake is complete.
    pub fn export_keying_material(
        &mut self,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) -> io::Result<()> {
        let connection = &mut self.driver.machine.connection;
        connection.export_keying_material(label, context, out).map_err(wrap)
    }

    /// Returns the channel binding `tls-exporter` (RFC 9266), for authentication inside the connection: the
    /// same 32 bytes at both ends, and different ones on any other connection.
    pub fn channel_binding(&mut self) -> io::Result<[u8; 32]> {
        let mut binding = [0; 32];
        self.export_keying_material(b"EXPORTER-Channel-Binding", b"", &mut binding)?;
        Ok(binding)
    }

    /// Changes this side's keys, and with `request` asks the peer to change its own (RFC 8446 §4.6.3).
    pub async fn update_keys(&mut self, request: bool) -> io::Result<()> {
        // Each call adds to the output, so wait until it is flushed.
        poll_fn(|cx| self.poll_flush_output(cx)).await?;
        let machine = &mut *self.driver.machine;
        machine.connection.update_keys(request, &mut machine.output).map_err(wrap)?;
        poll_fn(|cx| self.poll_flush_output(cx)).await
    }

    /// Splits the stream for two tasks; neither half blocks the other.
    ///
    /// ```
    /// # use tessera_tokio::ClientStream;
    /// # use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::TcpStream};
    /// # async fn example(stream: ClientStream<TcpStream>) -> std::io::Result<()> {
    /// let (mut reader, mut writer) = stream.split();
    /// let writing = tokio::spawn(async move { writer.write_all(b"question").await });
    /// reader.read_to_end(&mut Vec::new()).await?;
    /// # writing.await?
    /// # }
    /// ```
    pub fn split(self) -> (ReadHalf<Self>, WriteHalf<Self>) {
        tokio::io::split(self)
    }

    /// Returns the underlying stream, for its addresses or options.
    pub fn get_ref(&self) -> &IO {
        &self.driver.socket.io
    }

    /// Keeps `guard` until the handshake is complete or the stream is dropped.
    pub(crate) fn drop_when_complete(&mut self, guard: Box<dyn Send + Sync>) {
        self.driver.machine.completion.guard(guard);
    }

    fn poll_flush_output(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.driver.poll_send(Half::Write, cx).is_pending() {
            // A failed connection waits only for its last alert: its peer may never read again.
            return match self.driver.machine.failed.clone() {
                Some(error) => self.driver.poll_shutdown_after(Half::Write, error, cx).map(Err),
                None => Poll::Pending,
            };
        }
        self.driver.machine.release_large_output();
        Poll::Ready(self.driver.socket.check_writable())
    }

    /// Checks whether data can be written; both halves see the failure of a connection.
    pub(crate) fn check_writable(&self) -> io::Result<()> {
        if let Some(error) = &self.driver.machine.failed {
            return Err(wrap(error.clone()));
        }
        if self.is_shut_down {
            return Err(wrap(Error::Closed));
        }
        self.driver.socket.check_writable()
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin, S: AsyncHandshake> AsyncRead for TlsStream<IO, S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { driver, is_early, .. } = self.get_mut();
        let mut any = false;
        while buffer.remaining() > 0 {
            // If it is withdrawn, there is no plaintext any more, and the failure is reported below.
            let _ = driver.machine.check_withdrawn();
            let (plain, early) = driver.machine.plain();
            if !plain.is_empty() {
                if any && early != *is_early {
                    break;
                }
                let count = plain.len().min(buffer.remaining());
                buffer.put_slice(&plain[..count]);
                driver.machine.consume_plain(count);
                (any, *is_early) = (true, early);
            } else if any {
                // What was received already goes into the same read. The next read reports a failure.
                let step = driver.machine.advance();
                driver.notice_completion(Half::Read);
                if !matches!(step, Ok(Step::Plain)) {
                    break;
                }
            } else {
                // The engine takes close_notify only when the handshake is complete: this end comes from the
                // peer.
                let step = ready!(driver.poll_drive(Half::Read, Goal::Data, cx))?;
                if step == Step::PeerClosed {
                    break;
                }
            }
        }
        // Sends the engine's answers now or with the next call.
        let _ = driver.poll_send(Half::Read, cx);
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin, S: AsyncHandshake> AsyncWrite for TlsStream<IO, S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            this.check_writable()?;
            let written = this.driver.machine.write(data).map_err(wrap)?;
            if written > 0 || data.is_empty() {
                let _ = this.driver.poll_send(Half::Write, cx);
                return Poll::Ready(Ok(written));
            }
            if this.driver.machine.complete {
                ready!(this.driver.poll_send(Half::Write, cx));
            } else {
                // A server's early answer needs room; other data needs keys.
                let driven = this.driver.poll_handshake(Half::Write, Goal::Complete, cx)?;
                let machine = &mut this.driver.machine;
                if driven.is_pending() && !(machine.has_room() && machine.is_writable()) {
                    return Poll::Pending;
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_flush_output(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.is_shut_down {
            if S::ROLE == Role::Server && this.driver.machine.is_writable() {
                // Tickets are sent when the handshake is complete, and nothing after close_notify.
                ready!(this.driver.poll_handshake(Half::Write, Goal::Complete, cx))?;
            }
            this.is_shut_down = true;
            let machine = &mut *this.driver.machine;
            machine.connection.close(&mut machine.output);
        }
        let flushed = ready!(this.poll_flush_output(cx));
        // Store the sessions that a peer sent before it went away.
        ready!(this.driver.machine.session_writer.poll_done(cx));
        flushed?;
        this.driver.socket.register(Half::Write, cx);
        this.driver.socket.poll_shutdown()
    }
}
