//! A client's socket, which ends when nothing moves for too long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::counts::count;
use super::room::ConnectionPlace;
use super::stall::Stall;

/// The socket of one client of a [`Server`](super::Server). It holds the client's place until it is
/// dropped.
pub struct ClientSocket {
    timed: Timed<TcpStream>,
    place: ConnectionPlace,
}

/// Why a connection was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimedOut {
    /// No byte moved for as long as [`Limits::idle`](super::Limits::idle).
    Idle,
    /// The peer didn't read for as long as [`Limits::write`](super::Limits::write).
    Write,
}

impl std::fmt::Display for TimedOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Idle => "the connection was idle for too long",
            Self::Write => "the peer didn't read for too long",
        })
    }
}

impl std::error::Error for TimedOut {}

impl ClientSocket {
    pub(super) fn new(
        io: TcpStream,
        idle: Duration,
        write: Duration,
        place: ConnectionPlace,
    ) -> Self {
        Self { timed: Timed::new(io, idle, write), place }
    }

    /// The socket itself, to look at its addresses and options.
    pub fn get_ref(&self) -> &TcpStream {
        &self.timed.io
    }

    /// Bytes that came from the network.
    pub fn received(&self) -> u64 {
        self.timed.received
    }

    /// Bytes that went to it.
    pub fn sent(&self) -> u64 {
        self.timed.sent
    }

    /// Why the connection was ended by its server's limits, if it was. Errors of a stream over it have
    /// the kind [`TimedOut`](io::ErrorKind::TimedOut), as those of handshakes have.
    pub fn timed_out(&self) -> Option<TimedOut> {
        self.timed.timed_out
    }

    /// Looks whether a time-out came with this poll.
    fn polled<T>(&mut self, before: Option<TimedOut>, result: Poll<T>) -> Poll<T> {
        if self.timed.timed_out != before {
            let counters = self.place.counters();
            match self.timed.timed_out {
                Some(TimedOut::Idle) => count(&counters.idle),
                Some(TimedOut::Write) => {
                    count(&counters.stalled);
                    // The kernel would keep what the peer doesn't read, megabytes of it, for minutes after
                    // the socket is closed.
                    let _ = self.timed.io.set_zero_linger();
                }
                None => (),
            }
        }
        result
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = this.timed.timed_out;
        let result = Pin::new(&mut this.timed).poll_read(cx, buffer);
        this.polled(before, result)
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let before = this.timed.timed_out;
        let result = Pin::new(&mut this.timed).poll_write(cx, data);
        this.polled(before, result)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.timed).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.timed).poll_shutdown(cx)
    }
}

/// A stream with an idle and a write time-out.
struct Timed<IO> {
    io: IO,
    received: u64,
    sent: u64,
    /// When a byte moved last.
    moved: Instant,
    idle: Stall,
    /// Since when there is something to write and no room for it.
    blocked: Option<Instant>,
    write: Stall,
    timed_out: Option<TimedOut>,
}

impl<IO> Timed<IO> {
    fn new(io: IO, idle: Duration, write: Duration) -> Self {
        Self {
            io,
            received: 0,
            sent: 0,
            moved: Instant::now(),
            idle: Stall::new(idle),
            blocked: None,
            write: Stall::new(write),
            timed_out: None,
        }
    }

    fn fail<T>(&mut self, why: TimedOut) -> Poll<io::Result<T>> {
        self.timed_out = Some(why);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Timed<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.timed_out == Some(TimedOut::Write) {
            return this.fail(TimedOut::Write);
        }
        let before = buffer.filled().len();
        match Pin::new(&mut this.io).poll_read(cx, buffer) {
            Poll::Pending if this.idle.poll(this.moved, cx).is_ready() => this.fail(TimedOut::Idle),
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                let count = buffer.filled().len() - before;
                if count > 0 {
                    this.received += count as u64;
                    this.moved = Instant::now();
                }
                Poll::Ready(result)
            }
        }
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Timed<IO> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.timed_out == Some(TimedOut::Write) {
            return this.fail(TimedOut::Write);
        }
        match Pin::new(&mut this.io).poll_write(cx, data) {
            Poll::Pending => {
                let since = *this.blocked.get_or_insert_with(Instant::now);
                match this.write.poll(since, cx) {
                    Poll::Ready(()) => this.fail(TimedOut::Write),
                    Poll::Pending => Poll::Pending,
                }
            }
            Poll::Ready(result) => {
                this.blocked = None;
                if let Ok(count @ 1..) = result {
                    this.sent += count as u64;
                    this.moved = Instant::now();
                }
                Poll::Ready(result)
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn why(error: &io::Error) -> TimedOut {
        *error.get_ref().unwrap().downcast_ref().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_socket_is_idle_when_nothing_moved_in_either_direction() {
        let (near, mut far) = duplex(100);
        let mut socket = Timed::new(near, 10 * SECOND, SECOND);
        let started = Instant::now();
        // Less than the limit each time, and more in all.
        for _ in 0..3 {
            sleep(6 * SECOND).await;
            far.write_all(b"x").await.unwrap();
            socket.read_exact(&mut [0]).await.unwrap();
            sleep(6 * SECOND).await;
            socket.write_all(b"x").await.unwrap();
        }
        assert_eq!(started.elapsed(), 36 * SECOND);
        let error = socket.read(&mut [0]).await.unwrap_err();
        assert_eq!(why(&error), TimedOut::Idle);
        assert_eq!(started.elapsed(), 46 * SECOND);
        assert_eq!((socket.received, socket.sent), (3, 3));
        // The owner can still say goodbye.
        socket.write_all(b"bye").await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_waits_is_not_forgotten_when_its_limit_moves() {
        let (near, mut far) = duplex(100);
        let socket = Timed::new(near, 10 * SECOND, SECOND);
        let started = Instant::now();
        let reading = tokio::spawn(async move {
            let mut socket = socket;
            socket.read_exact(&mut [0; 4]).await.unwrap_err()
        });
        for _ in 0..3 {
            sleep(9 * SECOND).await;
            far.write_all(b"x").await.unwrap();
        }
        assert_eq!(why(&reading.await.unwrap()), TimedOut::Idle);
        assert_eq!(started.elapsed(), 37 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_ends_its_connection() {
        let (near, mut far) = duplex(100);
        let mut socket = Timed::new(near, Duration::MAX, 5 * SECOND);
        let started = Instant::now();
        // Whoever reads now and then is slow, and no more.
        socket.write_all(&[0; 100]).await.unwrap();
        let reading = async {
            for _ in 0..3 {
                sleep(4 * SECOND).await;
                far.read_exact(&mut [0; 100]).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(socket.write_all(&[0; 300]), reading);
        written.unwrap();
        assert_eq!(started.elapsed(), 12 * SECOND);
        let error = socket.write_all(&[0; 300]).await.unwrap_err();
        assert_eq!(why(&error), TimedOut::Write);
        assert_eq!(started.elapsed(), 17 * SECOND);
        assert_eq!(why(&socket.read(&mut [0]).await.unwrap_err()), TimedOut::Write);
    }

    #[tokio::test(start_paused = true)]
    async fn both_halves_of_a_socket_have_timers_of_their_own() {
        let (near, _far) = duplex(100);
        let (mut reader, mut writer) = split(Timed::new(near, 20 * SECOND, 5 * SECOND));
        let started = Instant::now();
        let reading = tokio::spawn(async move {
            (why(&reader.read(&mut [0]).await.unwrap_err()), started.elapsed())
        });
        let writing = tokio::spawn(async move {
            (why(&writer.write_all(&[0; 200]).await.unwrap_err()), started.elapsed())
        });
        assert_eq!(writing.await.unwrap(), (TimedOut::Write, 5 * SECOND));
        assert_eq!(reading.await.unwrap().0, TimedOut::Write);
    }
}
