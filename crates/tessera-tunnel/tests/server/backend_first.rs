//! A backend that is dead, hangs or resets never costs a request its verdict.

use tessera::resume::{Receipt, Verdict};
use tessera_tokio::EarlyData;
use tessera_tunnel::metrics::{DialResult, EarlyDataVerdict, HandshakeKind, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::backends::{Echo, HangingBackend};
use crate::world::{Client, Files, RunningServer, answer, within};

#[tokio::test(flavor = "multi_thread")]
async fn early_data_is_executed_once_by_the_backend() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let server = RunningServer::start(&files.server(&echo.forward()));
    let client = Client::new(&files.client());
    assert_eq!(client.request(server.address, b"first").await.unwrap(), b"first");
    let EarlyData::Accepted { mut stream, count, flight, .. } =
        client.early(server.address, b"early").await
    else {
        panic!("not accepted")
    };
    assert_eq!((count, flight.is_some()), (5, true));
    stream.write_all(b" and late").await.unwrap();
    assert_eq!(answer(&mut stream).await.unwrap(), b"early and late");
    let metrics = server.metrics.clone();
    server.stop().await;
    assert_eq!(echo.seen(), [b"first".to_vec(), b"early and late".to_vec()]);
    assert_eq!(metrics.early_data.get(EarlyDataVerdict::Accepted), 1);
    assert_eq!(metrics.early_data_bytes.get(), 5);
    assert_eq!(metrics.handshakes.get(HandshakeKind::ForwardSecret), 1);
    assert_eq!(metrics.connections.get(Outcome::Completed), 2);
    assert_eq!(metrics.dials.get(DialResult::Connected), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_backend_burns_early_data_and_a_later_one_executes_it_once() {
    let (files, mut echo) = (Files::new(), Echo::start().await);
    let server = RunningServer::start(&files.server(&echo.forward()));
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    echo.stop().await;

    let EarlyData::Rejected { mut stream, verdict, .. } =
        client.early(server.address, b"pay").await
    else {
        panic!("not rejected")
    };
    assert_eq!(verdict, Verdict::Burned);
    // There is no backend for the retry either: the connection ends without an answer, and without the close_notify
    // that would make it look complete.
    let _ = stream.write_all(b"pay").await;
    answer(&mut stream).await.unwrap_err();
    assert!(server.metrics.connections.get(Outcome::Unreachable) >= 1);

    let again = Echo::at(echo.address).await;
    assert_eq!(client.request(server.address, b"pay").await.unwrap(), b"pay");
    server.stop().await;
    assert_eq!(again.seen(), [b"pay".to_vec()]);
    assert_eq!(echo.seen(), [b"first".to_vec()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_comes_back_meanwhile_gets_what_was_burned_on_the_same_connection() {
    let (files, mut echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    // The backend is dialled when the retried data arrives.
    section.wait_for_client = true;
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    echo.stop().await;
    let EarlyData::Rejected { mut stream, verdict: Verdict::Burned, .. } =
        client.early(server.address, b"pay").await
    else {
        panic!("not burned")
    };
    let again = Echo::at(echo.address).await;
    stream.write_all(b"pay").await.unwrap();
    assert_eq!(answer(&mut stream).await.unwrap(), b"pay");
    server.stop().await;
    assert_eq!(again.seen(), [b"pay".to_vec()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_could_have_sent_early_data_and_waits_occupies_no_backend() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    section.wait_for_client = true;
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    section.forward = backend.local_addr().unwrap().to_string().parse().unwrap();
    server.end.reload(section).unwrap();

    // With a forward-secret ticket and no data, like a spare connection.
    let mut stream = client.connect(server.address).await.unwrap();
    assert!(stream.facts().flight.is_some());
    let (mut dialled, _) = within(backend.accept()).await.unwrap();
    assert_eq!(within(dialled.read(&mut [0])).await.unwrap(), 0);
    stream.write_all(b"word").await.unwrap();
    let (mut dialled, _) = within(backend.accept()).await.unwrap();
    let mut word = [0; 4];
    within(dialled.read_exact(&mut word)).await.unwrap();
    assert_eq!(&word, b"word");

    // Data in the flight goes over the connection dialled for it.
    let early = tokio::spawn(async move { client.early(server.address, b"early").await });
    let (mut dialled, _) = within(backend.accept()).await.unwrap();
    let mut word = [0; 5];
    within(dialled.read_exact(&mut word)).await.unwrap();
    assert_eq!(&word, b"early");
    assert!(matches!(within(early).await.unwrap(), EarlyData::Accepted { .. }));
    assert_eq!(server.metrics.dials.get(DialResult::Connected), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_hangs_burns_early_data() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    let hanging = HangingBackend::start().await;
    section.forward = hanging.address.to_string().parse().unwrap();
    server.end.reload(section).unwrap();
    let EarlyData::Rejected { verdict, .. } = client.early(server.address, b"pay").await else {
        panic!("not rejected")
    };
    assert_eq!(verdict, Verdict::Burned);
    assert!(server.metrics.dials.get(DialResult::TimedOut) >= 1);
    assert_eq!(echo.seen(), [b"first".to_vec()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_resets_leaves_its_client_without_a_regular_end() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    section.forward = listener.local_addr().unwrap().to_string().parse().unwrap();
    server.end.reload(section).unwrap();
    let resetting = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.read_exact(&mut [0]).await.unwrap();
        socket.set_zero_linger().unwrap();
    });
    match client.early(server.address, b"pay").await {
        EarlyData::Accepted { mut stream, .. } => {
            let _ = answer(&mut stream).await.unwrap_err();
        }
        // The reset arrived before the handshake was complete.
        EarlyData::Failed { outcome, .. } => assert_eq!(outcome.verdict, Some(Verdict::Unknown)),
        other => panic!("{other:?}"),
    }
    within(resetting).await.unwrap();
    let metrics = server.metrics.clone();
    server.stop().await;
    assert_eq!(metrics.connections.get(Outcome::LocalFailed), 1);
}

/// Relays one connection, and records what the client sent.
async fn recording(server: std::net::SocketAddr) -> (std::net::SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let recording = tokio::spawn(async move {
        let (client, _) = listener.accept().await.unwrap();
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) =
            TcpStream::connect(server).await.unwrap().into_split();
        let answers =
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
        let mut sent = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
            sent.extend_from_slice(&buffer[..count]);
            to_server.write_all(&buffer[..count]).await.unwrap();
        }
        to_server.shutdown().await.unwrap();
        let _ = answers.await;
        sent
    });
    (address, recording)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_that_is_replayed_reaches_the_backend_without_a_byte() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let server = RunningServer::start(&files.server(&echo.forward()));
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    let (relay, recorded) = recording(server.address).await;
    let EarlyData::Accepted { mut stream, .. } = client.early(relay, b"pay").await else {
        panic!("not accepted")
    };
    assert_eq!(answer(&mut stream).await.unwrap(), b"pay");
    let recorded = within(recorded).await.unwrap();
    for _ in 0..3 {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        socket.write_all(&recorded).await.unwrap();
        let _ = socket.shutdown().await;
        let _ = within(socket.read_to_end(&mut Vec::new())).await;
    }
    let metrics = server.metrics.clone();
    server.stop().await;
    assert_eq!(echo.seen(), [b"first".to_vec(), b"pay".to_vec()]);
    assert_eq!(metrics.early_data.get(EarlyDataVerdict::Used), 3);
    assert_eq!(metrics.early_data.get(EarlyDataVerdict::Accepted), 1);
    assert_eq!(metrics.connections.get(Outcome::HandshakeFailed), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn taken_flights_stay_taken_and_burned_ones_burned() {
    let (files, mut echo) = (Files::new(), Echo::start().await);
    let server = RunningServer::start(&files.server(&echo.forward()));
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    let EarlyData::Accepted { mut stream, flight: Some(taken), .. } =
        client.early(server.address, b"pay").await
    else {
        panic!("not accepted")
    };
    answer(&mut stream).await.unwrap();
    assert_eq!(client.receipt(server.address, taken).await, Receipt::TakenNotDone);
    echo.stop().await;
    let EarlyData::Rejected { stream, flight: Some(burned), .. } =
        client.early(server.address, b"pay").await
    else {
        panic!("not rejected")
    };
    drop(stream);
    let _again = Echo::at(echo.address).await;
    assert_eq!(client.receipt(server.address, burned).await, Receipt::Burned);
}
