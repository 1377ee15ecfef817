//! A backend that is dead, hangs or resets never costs a request its verdict.

use tessera::resume::Verdict;
use tessera_tokio::EarlyData;
use tessera_tunnel::metrics::{DialResult, EarlyDataVerdict, HandshakeKind, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::backends::{Echo, Hanging};
use crate::world::{Client, Files, Running, answer, within};

#[tokio::test(flavor = "multi_thread")]
async fn early_data_is_executed_once_by_the_backend() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let server = Running::start(&files.server(&echo.forward()));
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
    let server = Running::start(&files.server(&echo.forward()));
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    echo.stop().await;

    let EarlyData::Rejected { mut stream, verdict, .. } =
        client.early(server.address, b"pay").await
    else {
        panic!("not rejected")
    };
    assert_eq!(verdict, Verdict::Burned);
    // What is sent again finds no backend either: the connection ends without an answer, and without a word that
    // would make it look whole.
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
    // The backend is dialled when what is sent again is there.
    section.wait_for_client = true;
    let server = Running::start(&section);
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
async fn a_backend_that_hangs_burns_early_data() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    let server = Running::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    let hanging = Hanging::start().await;
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
    let server = Running::start(&section);
    let client = Client::new(&files.client());
    client.request(server.address, b"first").await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
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
        // The reset was quicker than the handshake.
        EarlyData::Failed { outcome, .. } => assert_eq!(outcome.verdict, Some(Verdict::Unknown)),
        other => panic!("{other:?}"),
    }
    within(resetting).await.unwrap();
    let metrics = server.metrics.clone();
    server.stop().await;
    assert_eq!(metrics.connections.get(Outcome::LocalFailed), 1);
}
