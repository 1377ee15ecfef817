//! Handshakes, data, both ways to end, and slow peers.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{bytes, connect, connect_over, destination, ends, finish};
use tessera::handshake::ClientAuthentication;
use tessera::wire::AlertDescription;
use tessera::{Destination, Error};
use tessera_tokio::{AsyncHandshake, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const MIB: usize = 1 << 20;

fn tls(error: &std::io::Error) -> &Error {
    error.get_ref().unwrap().downcast_ref().expect("an error of the engine")
}

#[tokio::test]
async fn streams_carry_data_over_tcp() {
    let mut ends = ends();
    ends.client.protocols = vec![b"test".to_vec()];
    ends.server.protocols = vec![b"test".to_vec()];
    let (connector, acceptor) = (ends.connector(), ends.acceptor());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(socket).await.unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.unwrap();
        stream.write_all(&received).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    let socket = TcpStream::connect(address).await.unwrap();
    let mut stream = connector.connect(destination(), socket).await.unwrap();
    assert_eq!(stream.protocol(), Some(&b"test"[..]));
    assert!(stream.is_handshake_complete());
    stream.write_all(b"hello").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"hello");
    server.await.unwrap();
}

#[tokio::test]
async fn streams_carry_a_mebibyte_both_ways_at_once() {
    let ends = ends();
    for capacity in [1000, 64 * 1024] {
        let (client, server) = connect_over(&ends.connector(), &ends.acceptor(), capacity).await;
        let (mut client_read, mut client_write) = client.split();
        let (mut server_read, mut server_write) = server.split();
        let data = Arc::new(bytes(MIB));
        let (to_server, to_client) = (data.clone(), data.clone());
        let writers = [
            tokio::spawn(async move {
                client_write.write_all(&to_server).await.unwrap();
                client_write.shutdown().await.unwrap();
            }),
            tokio::spawn(async move {
                server_write.write_all(&to_client).await.unwrap();
                server_write.shutdown().await.unwrap();
            }),
        ];
        let (mut at_client, mut at_server) = (Vec::new(), Vec::new());
        let (a, b) = tokio::join!(
            client_read.read_to_end(&mut at_client),
            server_read.read_to_end(&mut at_server)
        );
        assert_eq!((a.unwrap(), b.unwrap()), (MIB, MIB));
        assert!(at_client == *data && at_server == *data);
        for writer in writers {
            writer.await.unwrap();
        }
    }
}

/// Four tasks on several threads share two sockets, and start before the handshake.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn streams_carry_a_mebibyte_both_ways_on_several_threads() {
    let ends = ends();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let data = Arc::new(bytes(MIB));
    for _ in 0..10 {
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (far, _) = listener.accept().await.unwrap();
        let client = ends.connector().start(destination(), near).await.unwrap();
        let server = ends.acceptor().start(far).unwrap();
        let tasks = [spawn_both(client, &data), spawn_both(server, &data)];
        for task in tasks.into_iter().flatten() {
            task.await.unwrap();
        }
    }
}

/// Writes data in one task, and reads the same data in another.
fn spawn_both<S: AsyncHandshake>(
    stream: TlsStream<TcpStream, S>,
    data: &Arc<Vec<u8>>,
) -> [JoinHandle<()>; 2] {
    let (mut reader, mut writer) = stream.split();
    let (to_write, to_read) = (data.clone(), data.clone());
    let writing = tokio::spawn(async move {
        writer.write_all(&to_write).await.unwrap();
        writer.shutdown().await.unwrap();
    });
    let reading = tokio::spawn(async move {
        let mut received = Vec::new();
        reader.read_to_end(&mut received).await.unwrap();
        assert!(received == *to_read);
    });
    [writing, reading]
}

/// Both ends write first and then read, in one task each: what one end buffers is bounded, and a peer that
/// doesn't read stops the writer.
#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_stops_the_writer() {
    let ends = ends();
    let (mut client, mut server) = connect_over(&ends.connector(), &ends.acceptor(), 1000).await;
    let data = bytes(MIB);
    let mut written = 0;
    while let Ok(count) =
        tokio::time::timeout(Duration::from_secs(1), client.write(&data[written..])).await
    {
        written += count.unwrap();
    }
    assert!(written <= 64 * 1024, "{written} bytes wait");
    let mut received = vec![0; written];
    let (flushed, read) = tokio::join!(client.flush(), server.read_exact(&mut received));
    flushed.unwrap();
    read.unwrap();
    assert!(received == data[..written]);
    // And it continues.
    client.write_all(b"more").await.unwrap();
    let mut more = [0; 4];
    let (flushed, read) = tokio::join!(client.flush(), server.read_exact(&mut more));
    flushed.unwrap();
    read.unwrap();
    assert_eq!(&more, b"more");
}

#[tokio::test]
async fn streams_work_byte_by_byte() {
    let ends = ends();
    let (mut client, mut server) = connect_over(&ends.connector(), &ends.acceptor(), 1).await;
    let data = bytes(3000);
    let (written, received) = tokio::join!(
        async {
            client.write_all(&data).await?;
            client.shutdown().await
        },
        async {
            let mut received = Vec::new();
            let mut byte = [0];
            while server.read(&mut byte).await? > 0 {
                received.push(byte[0]);
            }
            std::io::Result::Ok(received)
        }
    );
    written.unwrap();
    assert_eq!(received.unwrap(), data);
}

#[tokio::test]
async fn each_side_may_close_first_and_go_on_reading() {
    let ends = ends();
    let (mut client, mut server) = connect(&ends.connector(), &ends.acceptor()).await;
    client.shutdown().await.unwrap();
    assert_eq!(client.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(server.read(&mut [0; 10]).await.unwrap(), 0);
    assert_eq!(server.read(&mut [0; 10]).await.unwrap(), 0, "again");
    server.write_all(b"still here").await.unwrap();
    server.shutdown().await.unwrap();
    let mut received = Vec::new();
    client.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"still here");

    let (mut client, mut server) = connect(&ends.connector(), &ends.acceptor()).await;
    server.shutdown().await.unwrap();
    assert_eq!(client.read(&mut [0; 10]).await.unwrap(), 0);
    client.write_all(b"still here").await.unwrap();
    client.shutdown().await.unwrap();
    let mut received = Vec::new();
    server.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"still here");
}

#[tokio::test]
async fn an_abrupt_end_of_a_stream_is_an_error() {
    let ends = ends();
    let (mut client, server) = connect(&ends.connector(), &ends.acceptor()).await;
    drop(server);
    let error = client.read(&mut [0; 10]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(tls(&error), &Error::Truncated);
    assert_eq!(client.write(b"x").await.unwrap_err().kind(), ErrorKind::UnexpectedEof);

    // During the handshake too.
    let (near, far) = duplex(1000);
    drop(far);
    let error = ends.connector().connect(destination(), near).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_takes_too_long_is_an_error() {
    let ends = ends();
    let (near, _far) = duplex(64 * 1024);
    let before = tokio::time::Instant::now();
    let error = ends.connector().connect(destination(), near).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(tls(&error), &Error::TimedOut);
    assert!(before.elapsed() >= ends.client.handshake_timeout);

    let (_near, far) = duplex(64);
    let error = ends.acceptor().accept(far).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut);

    // The peer doesn't even take the ClientHello.
    let (near, _far) = duplex(1);
    let error = ends.connector().connect(destination(), near).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

/// A task polled late, on a busy machine, uses what arrived in time.
#[tokio::test(start_paused = true)]
async fn a_late_task_completes_the_handshake_with_the_received_data() {
    let ends = ends();
    for is_whole in [true, false] {
        let (near, far) = duplex(64 * 1024);
        let mut server = ends.acceptor().start(far).unwrap();
        let mut client = ends.connector().start(destination(), near).await.unwrap();
        if is_whole {
            // The client's last flight is in the pipe when it is done.
            tokio::select! {
                biased;
                done = server.handshake() => panic!("without the client's Finished: {done:?}"),
                done = client.handshake() => done.unwrap(),
            }
        } else {
            // The ClientHello alone.
            let first_flight = client.write_early(b"");
            assert_eq!(first_flight.await.unwrap(), 0);
        }
        tokio::time::advance(ends.server.handshake_timeout + Duration::from_secs(1)).await;
        match server.handshake().await {
            Ok(()) => assert!(is_whole),
            Err(error) => assert!(!is_whole && error.kind() == ErrorKind::TimedOut, "{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_be_idle_for_longer_than_a_handshake() {
    let ends = ends();
    let (mut client, mut server) = connect(&ends.connector(), &ends.acceptor()).await;
    let mut byte = [0];
    let idle = tokio::time::timeout(Duration::from_secs(3600), client.read(&mut byte));
    assert!(idle.await.is_err(), "nothing comes");
    finish(&mut client, &mut server).await;
}

#[tokio::test]
async fn the_alert_arrives_at_the_peer_before_the_error_is_returned() {
    let ends = ends();
    let (near, far) = duplex(64 * 1024);
    let elsewhere = Destination { server_name: "other.example".into(), ..Default::default() };
    let (connector, acceptor) = (ends.connector(), ends.acceptor());
    let (client, server) = tokio::join!(connector.connect(elsewhere, near), acceptor.accept(far));
    let error = client.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(matches!(tls(&error), Error::PeerRejected(_)));
    assert!(matches!(tls(&server.err().unwrap()), Error::AlertReceived(_)));
}

#[tokio::test]
async fn both_ends_have_the_same_channel_binding() {
    let ends = ends();
    let (mut client, mut server) = connect(&ends.connector(), &ends.acceptor()).await;
    let binding = client.channel_binding().unwrap();
    assert_eq!(binding, server.channel_binding().unwrap());
    let (mut other, _server) = connect(&ends.connector(), &ends.acceptor()).await;
    assert_ne!(binding, other.channel_binding().unwrap());
}

#[tokio::test]
async fn streams_carry_data_while_keys_are_updated() {
    let ends = ends();
    let (mut client, mut server) = connect(&ends.connector(), &ends.acceptor()).await;
    for _ in 0..3 {
        client.update_keys(true).await.unwrap();
        client.write_all(b"x").await.unwrap();
        server.read_exact(&mut [0]).await.unwrap();
        server.write_all(b"y").await.unwrap();
        client.read_exact(&mut [0]).await.unwrap();
    }
    finish(&mut client, &mut server).await;
}

/// Before there are keys, any attacker can send close_notify: it must not count as an orderly end.
#[tokio::test]
async fn a_forged_close_notify_ends_no_stream_in_peace() {
    let ends = ends();
    let (near, mut far) = duplex(64 * 1024);
    let mut client = ends.connector().start(destination(), near).await.unwrap();
    far.write_all(&[21, 3, 3, 0, 2, 1, 0]).await.unwrap();
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);

    let (near, mut far) = duplex(64 * 1024);
    far.write_all(&[21, 3, 3, 0, 2, 1, 0]).await.unwrap();
    let error = ends.connector().connect(destination(), near).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_take_the_alert_delays_the_error_a_little() {
    let ends = ends();
    let (mut near, far) = duplex(1);
    near.write_all(b"x").await.unwrap();
    let before = tokio::time::Instant::now();
    let error = ends.acceptor().accept(far).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert_eq!(before.elapsed().as_secs(), 1);
}

/// The server refuses after the client's handshake is complete, and is gone when the client writes: its alert
/// can still be read.
#[tokio::test]
async fn a_late_alert_is_read_after_a_write_has_failed() {
    let mut ends = ends();
    let verifier = ends.client.verifier.clone();
    ends.server.client_authentication = ClientAuthentication::Required(verifier);
    let (near, far) = duplex(64 * 1024);
    let (connector, acceptor) = (ends.connector(), ends.acceptor());
    let (client, server) =
        tokio::join!(connector.connect(destination(), near), acceptor.accept(far));
    assert!(server.is_err());
    drop(server);
    let mut client = client.unwrap();
    // The first write detects it, and the next reports it.
    let _ = client.write(b"x").await;
    assert_eq!(client.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
    let error = client.read(&mut [0; 1]).await.unwrap_err();
    let alert = AlertDescription::CERTIFICATE_REQUIRED;
    assert_eq!(tls(&error), &Error::AlertReceived(alert));
}

/// A socket that is closed with unread bytes resets its connection, and the alert may be lost.
#[tokio::test]
async fn a_peer_that_is_still_sending_gets_the_alert_of_a_failed_handshake() {
    let acceptor = ends().acceptor();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        acceptor.accept(socket).await.map(drop).unwrap_err()
    });
    let mut socket = TcpStream::connect(address).await.unwrap();
    // A record of unknown type, and more data in transit.
    for _ in 0..3 {
        socket.write_all(&[99; 20_000]).await.expect("no reset");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut received = Vec::new();
    socket.read_to_end(&mut received).await.unwrap();
    let alert = AlertDescription::UNEXPECTED_MESSAGE;
    assert_eq!(received, [21, 3, 3, 0, 2, 2, alert.0]);
    drop(socket);
    assert_eq!(tls(&server.await.unwrap()).alert(), Some(alert));
}

/// Nor is it listened to for long.
#[tokio::test(start_paused = true)]
async fn a_peer_that_goes_on_sending_does_not_delay_the_error() {
    let acceptor = ends().acceptor();
    for (endless, seconds) in [(true, 0), (false, 1)] {
        let (mut near, far) = duplex(64 * 1024);
        let sender = tokio::spawn(async move {
            let piece = [99; 10_000];
            near.write_all(&piece).await.unwrap();
            let mut sent: usize = 0;
            while endless && near.write_all(&piece).await.is_ok() {
                sent += piece.len();
            }
            // The peer's end of the stream stays open.
            (sent, near)
        });
        let before = tokio::time::Instant::now();
        let error = acceptor.accept(far).await.err().unwrap();
        assert_eq!(tls(&error).alert(), Some(AlertDescription::UNEXPECTED_MESSAGE));
        assert_eq!(before.elapsed().as_secs(), seconds);
        let (sent, _near) = sender.await.unwrap();
        const MIB: usize = 1024 * 1024;
        assert_eq!(sent > 12 * MIB, endless, "{sent}");
        assert!(sent < 13 * MIB, "{sent}");
    }
}

/// A task that only writes gets the failure too: it doesn't wait for data that can't be sent any more.
#[tokio::test(start_paused = true)]
async fn a_failed_connection_is_flushed_no_longer_than_its_alert_waits() {
    // Less than a ClientHello, and the peer never reads.
    let (near, mut far) = duplex(16);
    let client = ends().connector().start(destination(), near).await.unwrap();
    far.write_all(b"HTTP/1.1 400 ").await.unwrap();
    let (mut reader, mut writer) = client.split();
    let before = tokio::time::Instant::now();
    let both = async { tokio::join!(reader.read_u8(), writer.flush()) };
    let both = tokio::time::timeout(Duration::from_secs(60), both).await;
    let (read, flushed) = both.expect("the flush ends");
    assert_eq!(before.elapsed().as_secs(), 1);
    let alert = Some(AlertDescription::UNEXPECTED_MESSAGE);
    assert_eq!(tls(&read.err().unwrap()).alert(), alert);
    assert_eq!(tls(&flushed.err().unwrap()).alert(), alert);
    assert_eq!(tls(&writer.shutdown().await.err().unwrap()).alert(), alert);
}
