//! First flights that end badly, and unusual uses of the stream.

use std::io::{self, ErrorKind};
use std::time::Duration;

use crate::common::sockets::Recording;
use crate::common::{bytes, destination, forward_secret, prepared};
use tessera::resume::Verdict;
use tessera::wire::NamedGroup;
use tessera_tokio::{Acceptor, FirstFlight, FirstFlightError, FirstFlightFailure};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

const REQUEST: &[u8] = b"PAY";

/// Checks the error of a failed connection, with the fate of the request unknown.
fn check_unanswered(error: &io::Error) {
    let error = FirstFlightError::of(error).unwrap();
    assert!(matches!(error.reason(), FirstFlightFailure::ConnectionFailed { .. }), "{error}");
    assert_eq!(error.verdict(), Some(Verdict::Unknown));
    assert!(error.flight().is_some() && !error.may_be_sent_again());
}

/// The server executes the request and resets the connection: the client can't know.
#[tokio::test]
async fn a_peer_that_accepts_early_data_and_resets_leaves_an_error_in_every_call() {
    for repeatable in [false, true] {
        let ends = forward_secret();
        let connector = prepared(&ends).await.0;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (far, _) = listener.accept().await.unwrap();
        let mut stream = connector.first_flight(destination(), near).await.unwrap();
        if repeatable {
            stream = stream.repeatable();
        }
        stream.write_all(REQUEST).await.unwrap();
        // The server gets the client's flight; its answer is dropped.
        let mut flight = vec![0; 64 * 1024];
        far.set_zero_linger().unwrap();
        let mut far = far;
        let len = far.read(&mut flight).await.unwrap();
        let (mut relay, server) = duplex(64 * 1024);
        relay.write_all(&flight[..len]).await.unwrap();
        let mut server = ends.acceptor().accept_early(server).await.unwrap();
        let mut executed = [0; REQUEST.len()];
        server.read_exact(&mut executed).await.unwrap();
        assert_eq!(executed, REQUEST);
        drop(far);
        let error = stream.read(&mut [0; 10]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        check_unanswered(&error);
        for _ in 0..2 {
            check_unanswered(&stream.write(REQUEST).await.unwrap_err());
            check_unanswered(&stream.flush().await.unwrap_err());
            check_unanswered(&stream.read(&mut [0; 10]).await.unwrap_err());
            check_unanswered(&stream.shutdown().await.unwrap_err());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_leaves_an_error() {
    let ends = forward_secret();
    let connector = prepared(&ends).await.0;
    let (near, _far) = duplex(64 * 1024);
    let mut stream = connector.first_flight(destination(), near).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    // A copy loop half-closes at once.
    let error = stream.shutdown().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    check_unanswered(&error);
    check_unanswered(&stream.read(&mut [0; 10]).await.unwrap_err());
}

/// Only a part of the ClientHello fits the pipe.
#[tokio::test(start_paused = true)]
async fn a_flight_that_never_left_may_be_sent_elsewhere() {
    let ends = forward_secret();
    let connector = prepared(&ends).await.0;
    let (near, mut far) = duplex(10);
    let mut stream = connector.first_flight(destination(), near).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let error = stream.shutdown().await.unwrap_err();
    let error = FirstFlightError::of(&error).unwrap();
    assert_eq!((error.verdict(), error.may_be_sent_again()), (None, true));
    // Nor is it sent later.
    drop(stream);
    let mut left = Vec::new();
    far.read_to_end(&mut left).await.unwrap();
    assert_eq!(left.len(), 10);
}

/// The server now speaks another protocol. What was burned may be sent elsewhere, and is not sent here.
#[tokio::test]
async fn nothing_is_sent_again_in_another_protocol() {
    for (group, verdict) in
        [(Some(NamedGroup::SECP256R1), Verdict::Burned), (None, Verdict::Burned)]
    {
        let mut ends = forward_secret();
        ends.client.protocols = vec![b"one".to_vec(), b"two".to_vec()];
        ends.server.protocols = vec![b"one".to_vec()];
        let connector = prepared(&ends).await.0;
        ends.server.protocols = vec![b"two".to_vec()];
        ends.server.groups = group.map_or(ends.server.groups, |group| vec![group]);
        let acceptor = Acceptor::new(ends.server.checked().unwrap());
        let (near, far) = duplex(64 * 1024);
        let stream = connector.first_flight(destination(), near).await.unwrap();
        let mut stream = stream.repeatable();
        assert_eq!(stream.protocol(), Some(&b"one"[..]));
        let client = async {
            stream.write_all(REQUEST).await.unwrap();
            stream.read(&mut [0; 10]).await.unwrap_err()
        };
        let server = async {
            let mut server = acceptor.accept(far).await.unwrap();
            let mut received = Vec::new();
            server.read_to_end(&mut received).await.unwrap();
            received
        };
        let (error, received) = tokio::join!(client, server);
        assert!(received.is_empty(), "{received:?}");
        let error = FirstFlightError::of(&error).unwrap();
        let FirstFlightFailure::OtherProtocol { protocol, .. } = error.reason() else {
            panic!("{error}")
        };
        assert_eq!(protocol.as_deref(), Some(&b"two"[..]));
        assert_eq!(error.verdict(), Some(verdict));
        assert!(error.may_be_sent_again());
        assert_eq!(stream.protocol(), Some(&b"two"[..]));
    }
}

/// The program reads, and the server speaks first.
#[tokio::test(start_paused = true)]
async fn a_program_that_reads_first_waits_for_the_limit_and_no_longer() {
    for limit in [None, Some(Duration::ZERO), Some(Duration::from_secs(1))] {
        let ends = forward_secret();
        let connector = prepared(&ends).await.0;
        let (near, far) = duplex(64 * 1024);
        let mut stream = connector.first_flight(destination(), near).await.unwrap();
        if let Some(limit) = limit {
            stream = stream.wait_at_most(limit);
        }
        let acceptor = ends.acceptor();
        tokio::spawn(async move {
            let mut server = acceptor.accept(far).await.unwrap();
            server.write_all(b"welcome").await.unwrap();
            server.flush().await.unwrap();
            server.read_to_end(&mut Vec::new()).await
        });
        let began = Instant::now();
        let mut greeting = [0; 7];
        stream.read_exact(&mut greeting).await.unwrap();
        assert_eq!(&greeting, b"welcome");
        let limit = limit.unwrap_or(Duration::from_millis(10));
        let waited = began.elapsed();
        // The timer's resolution is a millisecond.
        assert!(limit <= waited && waited <= limit + Duration::from_millis(2), "{waited:?}");
        assert_eq!(stream.early_data().sent, 0);
    }
}

/// A reader waits while another task writes: the flight leaves at once, and the reader gets the answer.
#[tokio::test(start_paused = true)]
async fn a_reader_is_woken_by_what_the_writer_sends() {
    let ends = forward_secret();
    let connector = prepared(&ends).await.0;
    let (near, far) = duplex(64 * 1024);
    let stream = connector.first_flight(destination(), near).await.unwrap();
    let stream = stream.wait_at_most(Duration::from_secs(3600));
    let began = Instant::now();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let reading = tokio::spawn(async move {
        let mut answer = [0; 4];
        reader.read_exact(&mut answer).await.map(|_| answer)
    });
    tokio::task::yield_now().await;
    let acceptor = ends.acceptor();
    let serving = tokio::spawn(async move {
        let mut server = acceptor.accept_early(far).await?;
        let mut request = [0; REQUEST.len()];
        server.read_exact(&mut request).await?;
        assert!(server.is_early());
        server.write_all(b"done").await?;
        server.flush().await?;
        io::Result::Ok(server)
    });
    // No flush and no further write.
    writer.write_all(REQUEST).await.unwrap();
    assert_eq!(&reading.await.unwrap().unwrap(), b"done");
    serving.await.unwrap().unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

/// One application writes nothing, another only shuts down.
#[tokio::test(start_paused = true)]
async fn a_program_that_writes_nothing_has_a_connection_all_the_same() {
    let ends = forward_secret();
    let connector = prepared(&ends).await.0;
    let (near, far) = duplex(64 * 1024);
    let mut stream = connector.first_flight(destination(), near).await.unwrap();
    let acceptor = ends.acceptor();
    let server = async {
        let mut server = acceptor.accept(far).await.unwrap();
        let read = server.read(&mut [0; 1]).await.unwrap();
        (read, server)
    };
    let client = async {
        stream.write_all(b"").await.unwrap();
        stream.flush().await.unwrap();
        stream.shutdown().await.unwrap();
    };
    let (_, (read, _server)) = tokio::join!(client, server);
    assert_eq!(read, 0);
    assert!(stream.facts().handshake_complete);
}

async fn received(acceptor: &Acceptor, far: DuplexStream) -> (Vec<u8>, usize) {
    let mut server = acceptor.accept_early(far).await.unwrap();
    let (mut received, mut early, mut chunk) = (Vec::new(), 0, [0; 4096]);
    loop {
        let count = server.read(&mut chunk).await.unwrap();
        if count == 0 {
            server.shutdown().await.unwrap();
            return (received, early);
        }
        early += if server.is_early() { count } else { 0 };
        received.extend_from_slice(&chunk[..count]);
    }
}

/// More than early data may carry, through pipes of every size, accepted and burned.
#[tokio::test]
async fn data_beyond_the_early_data_limit_follows_in_order() {
    for capacity in [100, 5_000, 64 * 1024] {
        for burned in [false, true] {
            let ends = forward_secret();
            let connector = prepared(&ends).await.0;
            let mut server = ends.server.clone();
            if burned {
                server.groups = vec![NamedGroup::SECP256R1];
            }
            let acceptor = Acceptor::new(server.checked().unwrap());
            let data = bytes(200_000);
            let (near, far) = duplex(capacity);
            let mut stream = connector.first_flight(destination(), near).await.unwrap();
            let client = async {
                stream.write_all(&data).await?;
                stream.flush().await?;
                stream.shutdown().await?;
                stream.read_to_end(&mut Vec::new()).await
            };
            let (sent, (received, early)) = tokio::join!(client, received(&acceptor, far));
            sent.unwrap();
            assert!(received == data, "{} bytes", received.len());
            assert_eq!(early, if burned { 0 } else { 16 * 1024 });
            assert_eq!(stream.early_data().sent_again, burned);
        }
    }
}

/// The outcome is known while the stream lives; nothing is sent again.
#[tokio::test]
async fn a_call_dropped_between_flight_and_verdict_is_not_sent_again() {
    let ends = forward_secret();
    let connector = prepared(&ends).await.0;
    let (near, mut far) = duplex(64 * 1024);
    let (near, writes) = Recording::new(near);
    let mut stream = connector.first_flight(destination(), near).await.unwrap();
    assert_eq!(stream.early_data().sent, 0);
    stream.write_all(REQUEST).await.unwrap();
    let outcome = stream.early_data();
    assert_eq!((outcome.sent, outcome.verdict), (REQUEST.len(), Some(Verdict::Unknown)));
    assert!(outcome.flight.is_some());
    drop(stream);
    far.read_to_end(&mut Vec::new()).await.unwrap();
    assert_eq!(writes.lock().unwrap().len(), 1);
}

/// An attacker replays recorded first flights to the server, again and again.
#[tokio::test]
async fn a_recorded_first_flight_is_executed_at_most_once() {
    let ends = forward_secret().with_tickets(4);
    let connector = prepared(&ends).await.0;
    let acceptor = ends.acceptor();
    let mut recorded = Vec::new();
    for is_delivered in [true, false, true] {
        let (near, far) = duplex(64 * 1024);
        let (near, writes) = Recording::new(near);
        let mut stream = connector.first_flight(destination(), near).await.unwrap();
        stream.write_all(REQUEST).await.unwrap();
        if is_delivered {
            let (ended, (received, early)) =
                tokio::join!(end(&mut stream), received(&acceptor, far));
            ended.unwrap();
            assert_eq!((&received[..], early), (REQUEST, REQUEST.len()));
        }
        recorded.push((writes.lock().unwrap().concat(), is_delivered));
    }
    for (bytes, is_delivered) in recorded {
        let mut executions = usize::from(is_delivered);
        for _ in 0..3 {
            let (mut replaying, far) = duplex(64 * 1024);
            replaying.write_all(&bytes).await.unwrap();
            replaying.shutdown().await.unwrap();
            let Ok(mut server) = acceptor.accept_early(far).await else { continue };
            let mut executed = Vec::new();
            let _failed = server.read_to_end(&mut executed).await;
            executions += usize::from(!executed.is_empty());
        }
        assert_eq!(executions, 1);
    }
}

async fn end(stream: &mut FirstFlight<Recording>) -> io::Result<usize> {
    stream.shutdown().await?;
    stream.read_to_end(&mut Vec::new()).await
}
