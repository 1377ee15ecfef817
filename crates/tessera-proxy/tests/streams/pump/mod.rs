//! What a pump carries, how it ends, and the memory it holds.

mod failures;
mod peer;
mod schedules;
mod tls;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use peer::{ScriptedStream, Turn, tcp_pair};
use tessera_proxy::pump::{End, MAX_KEPT, Side, pump};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, duplex};

/// Which side ends first, and whether the other still sends then.
#[tokio::test]
async fn a_half_closed_connection_stays_half_closed() {
    for first in [Side::A, Side::B] {
        let (mut client, a) = tcp_pair().await;
        let (b, mut server) = tcp_pair().await;
        let pumped = tokio::spawn(pump(a, b));
        if first == Side::B {
            (client, server) = (server, client);
        }
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let mut question = String::new();
        server.read_to_string(&mut question).await.unwrap();
        assert_eq!(question, "question", "with its end");
        server.write_all(b"an answer").await.unwrap();
        let mut answer = [0; 9];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"an answer", "before the other side's end");
        server.write_all(b", and more of it").await.unwrap();
        server.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, ", and more of it");
        let pumped = pumped.await.unwrap();
        let counts = match first {
            Side::A => (pumped.a_to_b, pumped.b_to_a),
            Side::B => (pumped.b_to_a, pumped.a_to_b),
        };
        assert_eq!(counts, (8, 25));
        assert!(matches!(pumped.end, End::Closed { first: side } if side == first), "{pumped:?}");
    }
}

#[tokio::test]
async fn a_connection_without_a_byte_ends() {
    let (mut client, a) = tcp_pair().await;
    let (b, mut server) = tcp_pair().await;
    let pumped = tokio::spawn(pump(a, b));
    client.shutdown().await.unwrap();
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);
    server.shutdown().await.unwrap();
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    let pumped = pumped.await.unwrap();
    assert_eq!((pumped.a_to_b, pumped.b_to_a), (0, 0));
    assert!(matches!(pumped.end, End::Closed { first: Side::A }), "{pumped:?}");
}

/// It is slowed down, the opposite direction is not, and the kept data is bounded.
#[tokio::test]
async fn a_side_that_does_not_read_stops_its_direction_alone() {
    let (client, a) = duplex(1000);
    let (b, server) = duplex(1000);
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let pumped = tokio::spawn(pump(a, b));
    let stream: Vec<u8> = (0..2 * MAX_KEPT).map(|index| (index % 251) as u8).collect();
    let sent = stream.clone();
    let (told, mut taken) = tokio::sync::watch::channel(0);
    let writing = tokio::spawn(async move {
        for (index, byte) in sent.iter().enumerate() {
            to_client.write_all(&[*byte]).await.unwrap();
            told.send_replace(index + 1);
        }
        to_client.shutdown().await.unwrap();
    });
    // The server doesn't read; what it sends still arrives, a round trip each.
    for number in 0..10_000_u32 {
        to_server.write_all(&number.to_be_bytes()).await.unwrap();
        assert_eq!(from_client.read_u32().await.unwrap(), number);
    }
    let stalled = *taken.borrow_and_update();
    assert!(stalled <= 2 * 1000 + MAX_KEPT, "{stalled} bytes went in");
    assert!(stalled < stream.len());
    let mut received = Vec::new();
    to_server.shutdown().await.unwrap();
    from_server.read_to_end(&mut received).await.unwrap();
    assert!(received == stream, "all of it, in order");
    writing.await.unwrap();
    assert!(matches!(pumped.await.unwrap().end, End::Closed { first: Side::A | Side::B }));
}

#[tokio::test]
async fn written_bytes_leave_when_nothing_more_is_to_read() {
    let three = ["one", ", two", " and three"].map(|text| Turn::Bytes(text.into()));
    let mut a = ScriptedStream::reading(three.into_iter().chain([Turn::Never]));
    let mut b = ScriptedStream::reading([Turn::Never]);
    let written = b.written.clone();
    let mut waits = Box::pin(pump(&mut a, &mut b));
    assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let written = written.lock().unwrap();
    assert_eq!((written.flushed, written.flushes), (18, 1));
    assert_eq!(written.bytes, b"one, two and three");
}

/// Always has data to read, and accepts everything.
#[derive(Default)]
struct EndlessStream {
    read: usize,
    written: usize,
}

impl AsyncRead for EndlessStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.read += buffer.remaining();
        assert!(self.read < 10 << 20, "others never have their turn");
        buffer.put_slice(&vec![7; buffer.remaining()]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for EndlessStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written += data.len();
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(Default)]
struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_pump_that_never_waits_gives_others_their_turn() {
    let (mut a, mut b) = (EndlessStream::default(), EndlessStream::default());
    let woken = Arc::new(WakeFlag::default());
    let waker = woken.clone().into();
    let mut busy = Box::pin(pump(&mut a, &mut b));
    for _ in 0..3 {
        assert!(busy.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(woken.0.swap(false, Ordering::Relaxed), "it goes on");
    }
    drop(busy);
    assert_eq!((a.written, b.written), (b.read, a.read));
    assert_eq!(a.written, b.written, "both directions alike");
}
