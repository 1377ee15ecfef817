//! A failing side, and what the other side sees.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tessera_proxy::pump::{End, PumpOperation, PumpSummary, Side, pump};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf, duplex, join};
use tokio::task::coop::poll_proceed;
use tokio::time::Instant;

use super::peer::{ScriptedStream, Turn, tcp_pair};

fn bytes(text: &str) -> Turn {
    Turn::Bytes(text.into())
}

/// Pumps with the failing side at either position.
async fn both_ways(
    failing: &ScriptedStream,
    other: &ScriptedStream,
    check: impl Fn(Side, PumpSummary, &ScriptedStream, &ScriptedStream),
) {
    for side in [Side::A, Side::B] {
        let fresh = |script: &ScriptedStream| ScriptedStream {
            written: Default::default(),
            ..script.clone()
        };
        let (mut failing, mut other) = (fresh(failing), fresh(other));
        let pumped = match side {
            // The other's bytes come first.
            Side::A if failing.takes.is_some() => {
                failing.reads.push_front(Turn::NotYet);
                pump(&mut failing, &mut other).await
            }
            Side::A => pump(&mut failing, &mut other).await,
            Side::B => pump(&mut other, &mut failing).await,
        };
        check(side, pumped, &failing, &other);
    }
}

fn text(side: &ScriptedStream) -> String {
    String::from_utf8(side.written.lock().unwrap().bytes.clone()).unwrap()
}

fn is_shut_down(side: &ScriptedStream) -> bool {
    side.written.lock().unwrap().is_shut_down
}

#[tokio::test]
async fn a_side_that_is_reset_does_not_look_like_one_that_ended() {
    let failing =
        ScriptedStream::reading([bytes("half of"), Turn::Error(ErrorKind::ConnectionReset)]);
    let other = ScriptedStream::reading([Turn::Never]);
    both_ways(&failing, &other, |side, pumped, _, other| {
        let End::Failed { side: failed, doing: PumpOperation::Reading, error } = pumped.end else {
            panic!("{pumped:?}");
        };
        assert_eq!((failed, error.kind()), (side, ErrorKind::ConnectionReset));
        assert_eq!(text(other), "half of");
        assert_eq!(other.written.lock().unwrap().flushed, 7, "what was taken leaves");
        assert!(!is_shut_down(other));
    })
    .await;
}

#[tokio::test]
async fn the_last_words_of_a_side_that_takes_no_more_arrive() {
    let refusing = ScriptedStream::reading([bytes("FATAL: "), bytes("too many"), Turn::End])
        .taking(3, Turn::Error(ErrorKind::BrokenPipe));
    let other = ScriptedStream::reading([bytes("question"), Turn::Never]);
    both_ways(&refusing, &other, |side, pumped, refusing, other| {
        let End::EndedEarly { side: ended, error } = pumped.end else { panic!("{pumped:?}") };
        assert_eq!((ended, error.kind()), (side, ErrorKind::BrokenPipe));
        assert_eq!(text(refusing), "que");
        assert_eq!(text(other), "FATAL: too many");
        assert!(is_shut_down(other), "it received the end");
    })
    .await;
}

/// Reads like a tokio socket: a task out of budget finds nothing, even if there is data.
struct BudgetedStream(ScriptedStream);

impl AsyncRead for BudgetedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let proceed = ready!(poll_proceed(cx));
        let result = Pin::new(&mut self.get_mut().0).poll_read(cx, buffer);
        if result.is_ready() {
            proceed.made_progress();
        }
        result
    }
}

#[tokio::test]
async fn last_words_arrive_however_many_reads_they_take() {
    let words = (0..1000).map(|_| bytes("x"));
    let refusing = ScriptedStream::reading(words.chain([Turn::End]))
        .taking(0, Turn::Error(ErrorKind::BrokenPipe));
    let mut other = ScriptedStream::reading([bytes("question"), Turn::Never]);
    let refusing = join(BudgetedStream(refusing.clone()), refusing);
    let pumped = pump(&mut other, refusing).await;
    assert!(matches!(pumped.end, End::EndedEarly { side: Side::B, .. }), "{pumped:?}");
    assert_eq!((pumped.b_to_a, text(&other).len()), (1000, 1000));
}

#[tokio::test]
async fn a_side_that_neither_reads_nor_writes_has_failed() {
    for then in [Turn::Never, Turn::Error(ErrorKind::ConnectionReset)] {
        let failing = ScriptedStream::reading([bytes("so far"), then])
            .taking(0, Turn::Error(ErrorKind::BrokenPipe));
        let other = ScriptedStream::reading([bytes("question"), Turn::Never]);
        both_ways(&failing, &other, |side, pumped, _, other| {
            let End::Failed { side: failed, doing: PumpOperation::Writing, error } = pumped.end
            else {
                panic!("{pumped:?}");
            };
            assert_eq!((failed, error.kind()), (side, ErrorKind::BrokenPipe), "the first error");
            assert_eq!(text(other), "so far");
            assert!(!is_shut_down(other));
        })
        .await;
    }
}

/// With unread bytes in its socket, the kernel would reset the connection when the pump's owner drops it.
#[tokio::test]
async fn a_side_that_still_sends_is_read_to_its_end_and_not_reset() {
    for side in [Side::A, Side::B] {
        let (mut client, socket) = tcp_pair().await;
        let refusing = ScriptedStream::reading([bytes("FATAL"), Turn::End])
            .taking(0, Turn::Error(ErrorKind::BrokenPipe));
        client.write_all(b"question").await.unwrap();
        let pumped = tokio::spawn(async move {
            match side {
                Side::A => pump(refusing, socket).await,
                Side::B => pump(socket, refusing).await,
            }
        });
        let mut answer = [0; 5];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"FATAL");
        for _ in 0..100 {
            client.write_all(&[7; 10_000]).await.unwrap();
        }
        client.shutdown().await.unwrap();
        assert_eq!(client.read(&mut answer).await.unwrap(), 0);
        let pumped = pumped.await.unwrap();
        assert!(matches!(pumped.end, End::EndedEarly { side: ended, .. } if ended == side));
    }
}

#[tokio::test(start_paused = true)]
async fn a_side_that_never_ends_is_read_for_a_second() {
    let refusing = ScriptedStream::reading([bytes("FATAL"), Turn::End])
        .taking(0, Turn::Error(ErrorKind::BrokenPipe));
    let (mut client, socket) = duplex(100);
    client.write_all(b"question").await.unwrap();
    let started = Instant::now();
    let pumped = pump(socket, refusing).await;
    assert!(matches!(pumped.end, End::EndedEarly { side: Side::B, .. }), "{pumped:?}");
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}

/// Nothing wakes the task again.
#[tokio::test]
async fn a_failed_side_that_stays_silent_is_not_waited_for() {
    let failing =
        ScriptedStream::reading([Turn::Never]).taking(0, Turn::Error(ErrorKind::ConnectionReset));
    let other = ScriptedStream::reading([bytes("question"), Turn::Never]);
    for (a, b) in [(failing.clone(), other.clone()), (other, failing)] {
        let mut pumping = Box::pin(pump(a, b));
        let polled = pumping.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(PumpSummary { end: End::Failed { .. }, .. })));
    }
}

#[tokio::test]
async fn a_stream_that_takes_nothing_without_an_error_has_failed() {
    let failing = ScriptedStream::reading([Turn::Never]).taking(2, Turn::Bytes(Vec::new()));
    let other = ScriptedStream::reading([bytes("question"), Turn::Never]);
    both_ways(&failing, &other, |side, pumped, _, _| {
        let End::Failed { side: failed, error, .. } = pumped.end else { panic!("{pumped:?}") };
        assert_eq!((failed, error.kind()), (side, ErrorKind::WriteZero));
    })
    .await;
}

#[tokio::test]
async fn when_both_sides_fail_the_first_failure_is_reported() {
    let failing = ScriptedStream::reading([bytes("words"), Turn::End])
        .taking(0, Turn::Error(ErrorKind::BrokenPipe));
    let other = ScriptedStream::reading([bytes("question"), Turn::Never])
        .taking(0, Turn::Error(ErrorKind::ConnectionReset));
    let PumpSummary { end: End::Failed { side, doing, error }, .. } = pump(other, failing).await
    else {
        panic!("it failed");
    };
    assert_eq!(
        (side, doing, error.kind()),
        (Side::B, PumpOperation::Writing, ErrorKind::BrokenPipe)
    );
}

/// A real reset, and how the caller signals it.
#[tokio::test]
async fn a_reset_goes_through() {
    let (client, mut a) = tcp_pair().await;
    let (mut b, mut server) = tcp_pair().await;
    let pumped = tokio::spawn(async move {
        let pumped = pump(&mut a, &mut b).await;
        if let End::Failed { .. } = pumped.end {
            b.set_zero_linger().unwrap();
        }
        pumped
    });
    client.set_zero_linger().unwrap();
    drop(client);
    let error = server.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let pumped = pumped.await.unwrap();
    let End::Failed { side: Side::A, doing: PumpOperation::Reading, error } = pumped.end else {
        panic!("{pumped:?}");
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// A server that sends a reason and closes while its client still sends, as PostgreSQL does.
#[tokio::test]
async fn a_servers_last_words_arrive_while_the_client_sends() {
    let (mut client, a) = tcp_pair().await;
    let (b, mut server) = tcp_pair().await;
    let pumped = tokio::spawn(pump(a, b));
    client.write_all(&[7; 10_000]).await.unwrap();
    server.read_exact(&mut [0; 100]).await.unwrap();
    server.write_all(b"FATAL").await.unwrap();
    // With unread bytes: the kernel resets the connection.
    drop(server);
    let mut answer = [0; 5];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"FATAL");
    while client.write_all(&[7; 10_000]).await.is_ok() {}
    assert!(matches!(
        pumped.await.unwrap().end,
        End::Failed { side: Side::B, .. } | End::EndedEarly { side: Side::B, .. }
    ));
}
