//! A socket that times out when nothing moves.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::net::TcpStream;
use tokio::time::Instant;

use super::counts::count;
use super::reset::ResetOnClose;
use super::room::Room;
use super::stall::Stall;
use crate::tracked::{StreamUse, TrackedStream, Tracker};

/// A socket that ends when nothing moves for too long: [`Limits::idle`](super::Limits::idle) and
/// [`Limits::write`](super::Limits::write). [`Gate::time`](super::Gate::time) makes it.
pub type TimedSocket<IO = TcpStream> = TrackedStream<IO, IdleTimer>;

/// What a [`TimedSocket`] has besides its stream: limits, and what has moved. It may hold a place.
pub struct IdleTimer<P = ()> {
    pub(super) place: P,
    /// Whose limits these are.
    room: Arc<Room>,
    received: u64,
    sent: u64,
    /// When the last byte moved.
    moved: Instant,
    idle: Stall,
    /// Since when there has been something to write and no room for it.
    blocked: Option<Instant>,
    write: Stall,
    timed_out: Option<TimedOut>,
}

/// Why a connection timed out.
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
            Self::Write => "the peer didn't read for longer than the write limit",
        })
    }
}

impl std::error::Error for TimedOut {}

impl<P> IdleTimer<P> {
    pub(super) fn new(room: Arc<Room>, place: P) -> Self {
        Self {
            place,
            room,
            received: 0,
            sent: 0,
            moved: Instant::now(),
            idle: Stall::default(),
            blocked: None,
            write: Stall::default(),
            timed_out: None,
        }
    }

    fn fail(&mut self, io: &impl ResetOnClose, why: TimedOut) -> io::Error {
        if self.timed_out != Some(why) {
            self.timed_out = Some(why);
            let counters = &self.room.counters;
            match why {
                TimedOut::Idle => count(&counters.idle),
                TimedOut::Write => {
                    count(&counters.stalled);
                    // The kernel would keep what the peer doesn't read, megabytes of it, for minutes after
                    // the socket is closed.
                    io.reset_on_close();
                }
            }
        }
        io::Error::new(io::ErrorKind::TimedOut, why)
    }
}

impl<IO, P> TrackedStream<IO, IdleTimer<P>> {
    /// The socket itself, to look at its addresses and options.
    pub fn get_ref(&self) -> &IO {
        &self.stream
    }

    /// Bytes that came from the network.
    pub fn received(&self) -> u64 {
        self.tracker.received
    }

    /// Bytes that went to it.
    pub fn sent(&self) -> u64 {
        self.tracker.sent
    }

    /// Why the connection was ended by limits, if it was. Errors of a stream over it have the kind
    /// [`TimedOut`](io::ErrorKind::TimedOut), as those of handshakes have.
    pub fn timed_out(&self) -> Option<TimedOut> {
        self.tracker.timed_out
    }
}

impl<IO: ResetOnClose, P> Tracker<IO> for IdleTimer<P> {
    fn before(&mut self, io: &mut IO, what: StreamUse) -> io::Result<()> {
        let moves = matches!(what, StreamUse::Read | StreamUse::Write);
        match moves && self.timed_out == Some(TimedOut::Write) {
            true => Err(self.fail(io, TimedOut::Write)),
            false => Ok(()),
        }
    }

    fn after(
        &mut self,
        io: &mut IO,
        what: StreamUse,
        moved: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let (limits, now) = (&self.room.limits, Instant::now);
        let (over, why) = match (what, &moved) {
            (StreamUse::Read, Poll::Pending) => {
                (self.idle.poll(self.moved, limits.idle, cx), TimedOut::Idle)
            }
            (StreamUse::Write, Poll::Pending) => {
                let since = *self.blocked.get_or_insert_with(now);
                (self.write.poll(since, limits.write, cx), TimedOut::Write)
            }
            (StreamUse::Read, Poll::Ready(read)) => {
                self.received += *read.as_ref().unwrap_or(&0) as u64;
                self.moved = now();
                return moved;
            }
            (StreamUse::Write, Poll::Ready(written)) => {
                self.blocked = None;
                if let Ok(count @ 1..) = written {
                    self.sent += *count as u64;
                    self.moved = now();
                }
                return moved;
            }
            (StreamUse::Flush | StreamUse::Shutdown, _) => return moved,
        };
        over.map(|()| Err(self.fail(io, why)))
    }
}

impl<IO: ResetOnClose, P> ResetOnClose for TrackedStream<IO, IdleTimer<P>> {
    fn reset_on_close(&self) {
        self.stream.reset_on_close();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::time::Duration;

    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, ReadBuf, duplex, split};
    use tokio::time::sleep;

    use super::*;
    use crate::server::{Gate, Limits};

    const SECOND: Duration = Duration::from_secs(1);

    fn timed(io: DuplexStream, idle: Duration, write: Duration) -> TimedSocket<DuplexStream> {
        let mut limits = Limits::default();
        (limits.idle, limits.write) = (idle, write);
        Gate::new(limits).time(io)
    }

    fn why(error: &io::Error) -> TimedOut {
        *error.get_ref().unwrap().downcast_ref().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_socket_is_idle_when_nothing_moved_in_either_direction() {
        let (near, mut far) = duplex(100);
        let mut socket = timed(near, 10 * SECOND, SECOND);
        let started = Instant::now();
        // Each pause is below the limit, their sum above.
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
        assert_eq!((socket.received(), socket.sent()), (3, 3));
        // The owner can still send a last message.
        socket.write_all(b"bye").await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_waits_is_not_forgotten_when_its_limit_moves() {
        let (near, mut far) = duplex(100);
        let socket = timed(near, 10 * SECOND, SECOND);
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

    #[tokio::test]
    async fn earlier_contents_of_the_buffer_do_not_count_as_received() {
        let (near, mut far) = duplex(100);
        let mut socket = timed(near, SECOND, SECOND);
        far.write_all(b"abc").await.unwrap();
        let mut space = [0; 10];
        let mut buffer = ReadBuf::new(&mut space);
        buffer.put_slice(b"12");
        std::future::poll_fn(|cx| Pin::new(&mut socket).poll_read(cx, &mut buffer)).await.unwrap();
        assert_eq!((socket.received(), buffer.filled()), (3, &b"12abc"[..]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_ends_its_connection() {
        let (near, mut far) = duplex(100);
        let mut socket = timed(near, Duration::MAX, 5 * SECOND);
        let started = Instant::now();
        // A peer that reads now and then is slow, not stalled.
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
        let (mut reader, mut writer) = split(timed(near, 20 * SECOND, 5 * SECOND));
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
