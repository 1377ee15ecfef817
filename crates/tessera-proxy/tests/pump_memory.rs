//! The memory of a pump.
//!
//! A separate program: it measures and searches the whole process.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]
#![cfg(target_os = "linux")]

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tessera_harness::Mark;
use tessera_proxy::pump::{End, pump};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, duplex, join};
use tokio::sync::Mutex;

/// Returns a line of /proc/self/status, in bytes.
fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn a_gibibyte_goes_through_small_memory() {
    const TOTAL: usize = 1 << 30;
    let _alone = ALONE.lock().await;
    let (mut client, a) = duplex(64 * 1024);
    let (b, mut server) = duplex(64 * 1024);
    let pumped = tokio::spawn(pump(a, b));
    let before = status("VmRSS:");
    let sending = async {
        // A length coprime to the sizes of buffers.
        let piece: Vec<u8> = (0..65_521).map(|index| (index % 251) as u8).collect();
        let mut left = TOTAL;
        while left > 0 {
            let count = left.min(piece.len());
            client.write_all(&piece[..count]).await.unwrap();
            left -= count;
        }
        client.shutdown().await.unwrap();
        client.read_to_end(&mut Vec::new()).await.unwrap()
    };
    let receiving = async {
        let mut buffer = vec![0; 100_000];
        let (mut total, mut peak) = (0, 0);
        loop {
            let count = server.read(&mut buffer).await.unwrap();
            if count == 0 {
                break;
            }
            // The first and the last byte of each read show its offset.
            for (at, byte) in [(total, buffer[0]), (total + count - 1, buffer[count - 1])] {
                assert_eq!(usize::from(byte), (at % 65_521) % 251, "at {at}");
            }
            total += count;
            if total % (1 << 20) < count {
                peak = peak.max(status("VmRSS:"));
            }
        }
        server.shutdown().await.unwrap();
        (total, peak)
    };
    let (_, (total, peak)) = tokio::join!(sending, receiving);
    assert_eq!(total, TOTAL);
    assert!(peak < before + (8 << 20), "{} bytes more", peak - before);
    let pumped = pumped.await.unwrap();
    assert_eq!(pumped.a_to_b, TOTAL as u64);
    assert!(matches!(pumped.end, End::Closed { .. }));
}

#[tokio::test]
async fn idle_pumps_hold_no_buffers() {
    const COUNT: usize = 2000;
    let _alone = ALONE.lock().await;
    let mut idle = Vec::with_capacity(COUNT);
    let mut buffer = vec![0; 50_000];
    let mut before = 0;
    for index in 0..COUNT + 10 {
        // The first ones fill what the thread caches.
        if index == 10 {
            before = status("VmRSS:");
        }
        let (mut client, a) = duplex(1000);
        let (b, mut server) = duplex(1000);
        let pumped = tokio::spawn(pump(a, b));
        // They carried data, and stalled, before.
        let data = vec![7; buffer.len()];
        let (written, read) = tokio::join!(client.write_all(&data), server.read_exact(&mut buffer));
        written.unwrap();
        read.unwrap();
        let (written, read) = tokio::join!(server.write_all(&data), client.read_exact(&mut buffer));
        written.unwrap();
        read.unwrap();
        idle.push((client, server, pumped));
    }
    let each = status("VmRSS:").saturating_sub(before) / COUNT;
    // Four of tokio's buffers of 1000 bytes, and the task.
    assert!(each < 8 * 1024, "{each} bytes each");
}

/// Accepts this many bytes, discards them, then accepts no more.
struct LimitedSink(usize);

impl AsyncWrite for LimitedSink {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = data.len().min(self.0);
        self.0 -= count;
        if count == 0 { Poll::Pending } else { Poll::Ready(Ok(count)) }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Yields this many bytes of the mark, and no end.
struct Marks<'a>(&'a Mark, usize);

impl AsyncRead for Marks<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.1.min(buffer.remaining());
        self.0.fill(buffer.initialize_unfilled_to(count));
        buffer.advance(count);
        self.1 -= count;
        if count == 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
    }
}

/// On the test's thread, so that the search covers its buffer.
#[tokio::test]
async fn no_plaintext_stays_in_memory() {
    let _alone = ALONE.lock().await;
    let mark = Mark::new();
    let mut cx = Context::from_waker(Waker::noop());
    for takes in [1000, usize::MAX] {
        let (a, b) = (Marks(&mark, 100_000), Marks(&mark, 3));
        let mut waits =
            Box::pin(pump(join(a, LimitedSink(usize::MAX)), join(b, LimitedSink(takes))));
        assert!(waits.as_mut().poll(&mut cx).is_pending());
        let held = mark.count();
        if takes == 1000 {
            assert!((3_000..5_000).contains(&held), "what was read and not taken is kept: {held}");
        } else {
            assert_eq!(held, 0, "an idle pump holds plaintext");
        }
        // Keeps freed memory from being returned to the system, where the search couldn't see it.
        let fence = vec![1; 60_000];
        drop(waits);
        assert_eq!(mark.count(), 0, "a dropped pump left plaintext");
        drop(fence);
    }
}

/// Other tests of this file would be in the same memory, unless each has its own process.
static ALONE: Mutex<()> = Mutex::const_new(());
