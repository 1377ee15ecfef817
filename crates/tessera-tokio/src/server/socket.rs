//! A client's socket, which holds its place.

use tokio::net::TcpStream;

use super::address_refusal::AddressRefusal;
use super::origin::Origin;
use super::room::{ConnectionPlace, HandshakePlace};
use super::timed::IdleTimer;
use crate::tracked::TrackedStream;

/// The socket of one client of a [`Server`](super::Server) or a [`Gate`](super::Gate). It holds the client's
/// place until it is dropped.
pub type ClientSocket<IO = TcpStream> = TrackedStream<IO, IdleTimer<ConnectionPlace>>;

impl<IO> ClientSocket<IO> {
    /// Where the client comes from, as far as limits look at it.
    pub fn origin(&self) -> Origin {
        self.tracker.place.origin()
    }

    /// Counts a client that a trusted peer forwarded ([`Origin::TRUSTED`]) for its own address, unless that
    /// is at its limit: then it stays where it is, and the owner must close it. `handshake` must be the same
    /// client's.
    pub fn move_to(
        &mut self,
        handshake: &mut HandshakePlace,
        origin: Origin,
    ) -> Result<(), AddressRefusal> {
        self.tracker.place.move_to(handshake, origin)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, IoSlice};
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll};

    use tokio::io::{AsyncWrite, AsyncWriteExt};

    use super::*;
    use crate::server::{Gate, Limits, ResetOnClose};

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
