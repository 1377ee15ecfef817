//! A client's socket, which holds its place.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::origin::Origin;
use super::refused::Refused;
use super::reset::ResetOnClose;
use super::room::{ConnectionPlace, HandshakePlace};
use super::timed::{TimedOut, TimedSocket};

/// The socket of one client of a [`Server`](super::Server) or a [`Gate`](super::Gate). It holds the client's
/// place until it is dropped.
pub struct ClientSocket<IO = TcpStream> {
    timed: TimedSocket<IO>,
    place: ConnectionPlace,
}

impl<IO> ClientSocket<IO> {
    pub(super) fn new(io: IO, place: ConnectionPlace) -> Self {
        Self { timed: TimedSocket::new(io, place.room().clone()), place }
    }

    /// Returns the socket itself, for its addresses and options.
    pub fn get_ref(&self) -> &IO {
        self.timed.get_ref()
    }

    /// Returns how many bytes were received.
    pub fn received(&self) -> u64 {
        self.timed.received()
    }

    /// Returns how many bytes were sent.
    pub fn sent(&self) -> u64 {
        self.timed.sent()
    }

    /// Returns why the server's limits ended the connection, if they did. Errors of a stream over it have the
    /// kind [`TimedOut`](io::ErrorKind::TimedOut), as those of handshakes have.
    pub fn timed_out(&self) -> Option<TimedOut> {
        self.timed.timed_out()
    }

    /// Returns the origin for which the client is counted.
    pub fn origin(&self) -> Origin {
        self.place.origin()
    }

    /// Counts a client that a trusted peer forwarded ([`Origin::TRUSTED`]) for its own address, unless that
    /// is at its limit: then it stays where it is, and the owner must close it. `handshake` must be the same
    /// client's.
    pub fn move_to(
        &mut self,
        handshake: &mut HandshakePlace,
        origin: Origin,
    ) -> Result<(), Refused> {
        self.place.move_to(handshake, origin)
    }
}

impl<IO: AsyncRead + ResetOnClose + Unpin> AsyncRead for ClientSocket<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.timed).poll_read(cx, buffer)
    }
}

impl<IO: AsyncWrite + ResetOnClose + Unpin> AsyncWrite for ClientSocket<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.timed).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.timed).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.timed.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.timed).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.timed).poll_shutdown(cx)
    }
}

impl<IO: ResetOnClose> ResetOnClose for ClientSocket<IO> {
    fn reset_on_close(&self) {
        self.timed.reset_on_close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::server::{Gate, Limits};

    /// Records the calls it gets, and is always ready.
    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<&'static str>>>);

    impl Recorder {
        fn note<T>(&self, call: &'static str, result: T) -> Poll<io::Result<T>> {
            self.0.lock().unwrap().push(call);
            Poll::Ready(Ok(result))
        }
    }

    impl AsyncWrite for Recorder {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            data: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.note("write", data.len())
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.note("write_vectored", slices.iter().map(|slice| slice.len()).sum())
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.note("flush", ())
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.note("shutdown", ())
        }
    }

    impl ResetOnClose for Recorder {
        fn reset_on_close(&self) {
            let _ = self.note("reset", ());
        }
    }

    #[tokio::test]
    async fn everything_reaches_the_socket_below_and_what_is_written_counts() {
        let io = Recorder::default();
        let vacancy = Gate::new(Limits::default()).vacancy().await;
        let (mut socket, _handshake) = vacancy.admit(io.clone(), Origin::LOCAL).unwrap();
        assert_eq!(socket.write(b"four").await.unwrap(), 4);
        assert!(socket.is_write_vectored());
        let slices = [IoSlice::new(b"and"), IoSlice::new(b"three")];
        assert_eq!(socket.write_vectored(&slices).await.unwrap(), 8);
        assert_eq!(socket.sent(), 12);
        socket.flush().await.unwrap();
        socket.shutdown().await.unwrap();
        socket.reset_on_close();
        let calls = ["write", "write_vectored", "flush", "shutdown", "reset"];
        assert_eq!(*io.0.lock().unwrap(), calls);
    }
}
