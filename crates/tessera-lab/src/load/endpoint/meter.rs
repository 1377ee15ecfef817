//! How much processor time TLS takes.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock;

/// Counts the processor time of calls of TLS streams, without that of their sockets: what the engine takes,
/// with the little that drives it. Each call costs two readings of the thread's clock, as does each of the
/// socket's; they are in the count.
#[derive(Debug, Default)]
pub(super) struct Meter {
    calls_ns: AtomicU64,
    sockets_ns: AtomicU64,
}

impl Meter {
    /// A stream's future, counted.
    pub(super) async fn of<F: Future>(&self, call: F) -> F::Output {
        let mut call = pin!(call);
        poll_fn(|cx| timed(&self.calls_ns, || call.as_mut().poll(cx))).await
    }

    /// The time since this began, or was asked to begin again.
    pub(super) fn tls(&self) -> Duration {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Duration::from_nanos(read(&self.calls_ns).saturating_sub(read(&self.sockets_ns)))
    }

    /// Begins again.
    pub(super) fn begin(&self) {
        self.calls_ns.store(0, Ordering::Relaxed);
        self.sockets_ns.store(0, Ordering::Relaxed);
    }
}

fn timed<T>(counter: &AtomicU64, call: impl FnOnce() -> T) -> T {
    // A clock that can't be read counts nothing: the kernel has it since 2.6.
    let read = || clock::thread_cpu().unwrap_or_default();
    let started = read();
    let result = call();
    let ns = read().saturating_sub(started).as_nanos();
    counter.fetch_add(u64::try_from(ns).unwrap_or(u64::MAX), Ordering::Relaxed);
    result
}

/// A socket whose calls are no TLS.
pub(super) struct Metered<IO> {
    pub(super) io: IO,
    pub(super) meter: Arc<Meter>,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Metered<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { io, meter } = self.get_mut();
        timed(&meter.sockets_ns, || Pin::new(io).poll_read(cx, buffer))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Metered<IO> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { io, meter } = self.get_mut();
        timed(&meter.sockets_ns, || Pin::new(io).poll_write(cx, data))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { io, meter } = self.get_mut();
        timed(&meter.sockets_ns, || Pin::new(io).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { io, meter } = self.get_mut();
        timed(&meter.sockets_ns, || Pin::new(io).poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// A socket that works hard.
    struct Busy;

    impl AsyncRead for Busy {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            work();
            buffer.put_slice(b"x");
            Poll::Ready(Ok(()))
        }
    }

    /// Uses two milliseconds of the processor.
    fn work() {
        let until = clock::thread_cpu().unwrap() + WORK;
        while clock::thread_cpu().unwrap() < until {}
    }

    const WORK: Duration = Duration::from_millis(2);

    #[tokio::test]
    async fn the_sockets_time_is_not_the_streams() {
        let meter = Arc::new(Meter::default());
        let mut socket = Metered { io: Busy, meter: meter.clone() };
        let reading = async {
            work();
            socket.read_u8().await.unwrap()
        };
        assert_eq!(meter.of(reading).await, b'x');
        let calls = Duration::from_nanos(meter.calls_ns.load(Ordering::Relaxed));
        let sockets = Duration::from_nanos(meter.sockets_ns.load(Ordering::Relaxed));
        assert!(sockets >= WORK && calls >= 2 * WORK, "{sockets:?} of {calls:?}");
        assert_eq!(meter.tls(), calls - sockets);
        meter.begin();
        assert_eq!(meter.tls(), Duration::ZERO);
        // What nobody counts takes nothing.
        tokio::io::sink().write_all(b"x").await.unwrap();
        assert_eq!(meter.tls(), Duration::ZERO);
    }
}
