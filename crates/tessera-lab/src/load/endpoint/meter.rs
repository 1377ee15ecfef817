//! Measures the processor time of TLS.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tessera_tokio::{StreamUse, TrackedStream, Tracker};

use crate::clock;

/// Measures the processor time of calls of TLS streams, without that of their sockets: what the engine uses, with the
/// little that drives it. The cost of reading the clock is measured before, and subtracted: otherwise an end that is
/// called more often would seem slower.
#[derive(Debug)]
pub(super) struct Meter {
    calls: Sum,
    sockets: Sum,
    /// The measured time of an empty call.
    clock_cost: Duration,
}

/// Calls, and their total time.
#[derive(Debug, Default)]
struct Sum {
    count: AtomicU64,
    ns: AtomicU64,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self {
            calls: Sum::default(),
            sockets: Sum::default(),
            clock_cost: clock::thread_cpu_cost(),
        }
    }

    /// Measures a stream's future.
    pub(super) async fn of<F: Future>(&self, call: F) -> F::Output {
        let mut call = pin!(call);
        poll_fn(|cx| {
            let began = now();
            let polled = call.as_mut().poll(cx);
            self.calls.add(now().saturating_sub(began));
            polled
        })
        .await
    }

    /// Returns the time since the beginning, or since the last reset.
    pub(super) fn tls(&self) -> Duration {
        let (calls, in_calls) = self.calls.read();
        let (sockets, in_sockets) = self.sockets.read();
        // About one of the two readings around a call is within the measured time; the second one of a socket is within
        // the call around it.
        in_calls.saturating_sub(in_sockets).saturating_sub(self.readings(calls + sockets))
    }

    /// Returns the cost of all this measuring: both readings around each call.
    pub(super) fn own(&self) -> Duration {
        let ((calls, _), (sockets, _)) = (self.calls.read(), self.sockets.read());
        self.readings(2 * (calls + sockets))
    }

    fn readings(&self, count: u64) -> Duration {
        let ns = u128::from(count) * self.clock_cost.as_nanos();
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Resets the meter.
    pub(super) fn begin(&self) {
        self.calls.begin();
        self.sockets.begin();
    }
}

impl Sum {
    fn add(&self, time: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.ns.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn read(&self) -> (u64, Duration) {
        let ns = self.ns.load(Ordering::Relaxed);
        (self.count.load(Ordering::Relaxed), Duration::from_nanos(ns))
    }

    fn begin(&self) {
        self.count.store(0, Ordering::Relaxed);
        self.ns.store(0, Ordering::Relaxed);
    }
}

/// A socket, whose calls are not TLS.
pub(super) type MeteredSocket<IO> = TrackedStream<IO, SocketMeter>;

/// Measures a socket's calls.
pub(super) struct SocketMeter {
    meter: Arc<Meter>,
    /// When the call began.
    began: Duration,
}

impl SocketMeter {
    pub(super) fn of<IO>(stream: IO, meter: Arc<Meter>) -> MeteredSocket<IO> {
        TrackedStream { stream, tracker: Self { meter, began: Duration::ZERO } }
    }
}

impl<IO> Tracker<IO> for SocketMeter {
    fn before(&mut self, _: &mut IO, _: StreamUse) -> io::Result<()> {
        self.began = now();
        Ok(())
    }

    fn after(
        &mut self,
        _: &mut IO,
        _: StreamUse,
        moved: Poll<io::Result<usize>>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.meter.sockets.add(now().saturating_sub(self.began));
        moved
    }
}

/// Returns the thread's processor time. A clock that can't be read counts nothing: the kernel has it since 2.6.
fn now() -> Duration {
    clock::thread_cpu().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

    use super::*;

    /// A socket that works hard.
    struct BusySocket;

    impl AsyncRead for BusySocket {
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
        let meter = Arc::new(Meter::new());
        let mut socket = SocketMeter::of(BusySocket, meter.clone());
        let reading = async {
            work();
            socket.read_u8().await.unwrap()
        };
        assert_eq!(meter.of(reading).await, b'x');
        let ((_, calls), (_, sockets)) = (meter.calls.read(), meter.sockets.read());
        assert!(sockets >= WORK && calls >= 2 * WORK, "{sockets:?} of {calls:?}");
        assert_eq!(meter.tls(), (calls - sockets).saturating_sub(2 * meter.clock_cost));
        meter.begin();
        assert_eq!((meter.tls(), meter.own()), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn the_time_to_read_the_clock_is_not_charged_to_the_stream() {
        let meter = Meter { clock_cost: Duration::from_nanos(200), ..Meter::new() };
        assert_eq!(meter.tls(), Duration::ZERO);
        for (sum, count, ns) in [(&meter.calls, 3, 10_000), (&meter.sockets, 2, 1_000)] {
            sum.count.store(count, Ordering::Relaxed);
            sum.ns.store(ns, Ordering::Relaxed);
        }
        assert_eq!(meter.tls(), Duration::from_nanos(10_000 - 1_000 - 5 * 200));
        assert_eq!(meter.own(), Duration::from_nanos(2 * 5 * 200));
    }
}
