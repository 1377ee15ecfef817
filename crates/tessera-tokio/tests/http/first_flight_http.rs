//! hyper over first flights: its requests travel as early data, transparently.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::sockets::Recording;
use crate::common::{Ends, destination, forward_secret, prepared};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera::EarlyDataStatus;
use tessera::wire::NamedGroup;
use tessera_tokio::{Acceptor, Connector, FirstFlight, FirstFlightError, ServerStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::oneshot;

/// Makes ends that speak this protocol, and a client that has sessions.
async fn speaking(protocol: &[u8]) -> (Ends, Connector) {
    let mut ends = forward_secret();
    ends.client.protocols = vec![protocol.to_vec()];
    ends.server.protocols = ends.client.protocols.clone();
    let connector = prepared(&ends).await.0;
    (ends, connector)
}

/// Requests that a server executed.
type ExecutionCount = Arc<AtomicUsize>;

/// Sends the body back.
async fn serve<IO>(stream: ServerStream<IO>, executed: ExecutionCount)
where
    IO: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let is_h2 = stream.protocol() == Some(b"h2");
    let service = service_fn(move |request: Request<Incoming>| {
        executed.fetch_add(1, Ordering::SeqCst);
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            Ok::<_, Infallible>(Response::new(Full::new(body)))
        }
    });
    let io = TokioIo::new(stream);
    let _ended = if is_h2 {
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        server.serve_connection(io, service).await
    } else {
        hyper::server::conn::http1::Builder::new().serve_connection(io, service).await
    };
}

fn spawn_server(acceptor: Acceptor, far: DuplexStream) -> ExecutionCount {
    let executed = ExecutionCount::default();
    let counted = executed.clone();
    tokio::spawn(async move {
        serve(acceptor.accept_early(far).await.unwrap(), counted).await;
    });
    executed
}

fn request(body: &'static str) -> Request<Full<Bytes>> {
    let request = Request::post("https://server.example/");
    request.header("host", "server.example").body(Full::new(Bytes::from(body))).unwrap()
}

/// Sends one request as an HTTP client does, from a task that isn't the connection's.
async fn fetch(stream: FirstFlight<Recording>) -> hyper::Result<Bytes> {
    let is_h2 = stream.protocol() == Some(b"h2");
    let io = TokioIo::new(stream);
    let response = if is_h2 {
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await?;
        tokio::spawn(connection);
        let (answered, answer) = oneshot::channel();
        tokio::spawn(async move {
            // The connection polls its stream, finds nothing to read, and has sent its SETTINGS.
            tokio::task::yield_now().await;
            let _ = answered.send(sender.send_request(request("hello")).await);
            sender
        });
        answer.await.unwrap()?
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        tokio::spawn(connection);
        sender.ready().await?;
        sender.send_request(request("hello")).await?
    };
    let version = if is_h2 { Version::HTTP_2 } else { Version::HTTP_11 };
    assert_eq!(response.version(), version);
    Ok(response.into_body().collect().await?.to_bytes())
}

/// Returns the types of the records in these bytes.
fn records(mut bytes: &[u8]) -> Vec<u8> {
    let mut types = Vec::new();
    while let [typ, _, _, high, low, rest @ ..] = bytes {
        types.push(*typ);
        bytes = &rest[usize::from(u16::from_be_bytes([*high, *low]))..];
    }
    types
}

/// ClientHello, change_cipher_spec, and the early data in one record: one write.
const ONE_FLIGHT: [u8; 3] = [22, 20, 23];

async fn a_request_is_one_flight(protocol: &[u8]) {
    let (ends, connector) = speaking(protocol).await;
    let (near, mut far) = duplex(64 * 1024);
    let (near, writes) = Recording::new(near);
    let stream = connector.first_flight(destination(), near).await.unwrap();
    // The request comes in time however busy the machine is.
    let stream = stream.wait_at_most(Duration::from_secs(3600));
    let client = tokio::spawn(fetch(stream));
    let mut flight = vec![0; 64 * 1024];
    let len = far.read(&mut flight).await.unwrap();
    let first = writes.lock().unwrap()[0].len();
    assert_eq!(records(&flight[..first]), ONE_FLIGHT);
    // The server gets that one write only.
    let (mut relay, server) = duplex(64 * 1024);
    relay.write_all(&flight[..first]).await.unwrap();
    let executed = spawn_server(ends.acceptor(), server);
    while executed.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    // A body that hyper writes separately, and the rest of the connection.
    relay.write_all(&flight[first..len]).await.unwrap();
    tokio::spawn(async move { tokio::io::copy_bidirectional(&mut relay, &mut far).await });
    assert_eq!(client.await.unwrap().unwrap(), "hello");
    assert_eq!(executed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_http_1_1_request_of_hyper_is_one_flight() {
    a_request_is_one_flight(b"http/1.1").await;
}

#[tokio::test]
async fn preface_settings_and_request_of_hyper_are_one_flight() {
    a_request_is_one_flight(b"h2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn preface_settings_and_request_are_one_flight_on_many_threads() {
    for _ in 0..5 {
        a_request_is_one_flight(b"h2").await;
    }
}

/// With time paused, an HTTP/1.1 request still leaves.
#[tokio::test(start_paused = true)]
async fn an_http_1_1_request_waits_for_no_timer() {
    let (_ends, connector) = speaking(b"http/1.1").await;
    let (near, mut far) = duplex(64 * 1024);
    let began = tokio::time::Instant::now();
    let (near, _) = Recording::new(near);
    let stream = connector.first_flight(destination(), near).await.unwrap();
    let client = tokio::spawn(fetch(stream));
    assert!(far.read(&mut [0; 64 * 1024]).await.unwrap() > 0);
    assert_eq!(began.elapsed(), Duration::ZERO);
    client.abort();
}

/// An h2 client without a request: its preface and SETTINGS leave alone.
#[tokio::test(start_paused = true)]
async fn an_http2_connection_without_a_request_is_made_all_the_same() {
    let (ends, connector) = speaking(b"h2").await;
    let (near, far) = duplex(64 * 1024);
    let executed = spawn_server(ends.acceptor(), far);
    let stream = connector.first_flight(destination(), near).await.unwrap();
    let began = tokio::time::Instant::now();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let response = sender.send_request(request("late")).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "late");
    assert_eq!(executed.load(Ordering::SeqCst), 1);
    assert!(began.elapsed() < Duration::from_secs(2));
}

/// Both protocols, and servers that accept, burn, and don't know the session.
#[tokio::test]
async fn a_request_of_hyper_is_executed_once_whatever_the_verdict() {
    for protocol in [&b"h2"[..], b"http/1.1"] {
        let (ends, connector) = speaking(protocol).await;
        let mut burning = ends.server.clone();
        burning.groups = vec![NamedGroup::SECP256R1];
        let mut statuses = Vec::new();
        for server in [ends.server.clone(), burning, ends.server.clone()] {
            let acceptor = Acceptor::new(server.checked().unwrap());
            let (near, far) = duplex(64 * 1024);
            let early = Arc::new(Mutex::new(None));
            let executed = ExecutionCount::default();
            tokio::spawn({
                let (early, executed) = (early.clone(), executed.clone());
                async move {
                    let stream = acceptor.accept_early(far).await.unwrap();
                    *early.lock().unwrap() = Some(stream.facts().early_data);
                    serve(stream, executed).await;
                }
            });
            let (near, _) = Recording::new(near);
            let mut stream = connector.first_flight(destination(), near).await.unwrap();
            stream.ready().await.unwrap();
            assert_eq!(fetch(stream).await.unwrap(), "hello");
            assert_eq!(executed.load(Ordering::SeqCst), 1);
            statuses.push(early.lock().unwrap().take().unwrap() == EarlyDataStatus::Accepted);
        }
        assert!(statuses[0] && !statuses[1], "{statuses:?}");
    }
}

/// The error of an HTTP/1.1 request wraps the flight's; h2 keeps only its text.
#[tokio::test]
async fn a_request_that_may_have_been_executed_is_an_error_of_hyper() {
    for protocol in [&b"http/1.1"[..], b"h2"] {
        let (ends, connector) = speaking(protocol).await;
        let (near, mut far) = duplex(64 * 1024);
        let (near, _) = Recording::new(near);
        let stream = connector.first_flight(destination(), near).await.unwrap();
        let client = tokio::spawn(fetch(stream));
        // The server executes the request, and its answer is lost.
        let mut flight = vec![0; 64 * 1024];
        let len = far.read(&mut flight).await.unwrap();
        let (mut relay, server) = duplex(64 * 1024);
        relay.write_all(&flight[..len]).await.unwrap();
        let executed = spawn_server(ends.acceptor(), server);
        while executed.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        drop(far);
        let error = client.await.unwrap().unwrap_err();
        let found = FirstFlightError::of(&error);
        match protocol {
            b"h2" => assert!(format!("{error:?}").contains("verdict unknown"), "{error:?}"),
            _ => assert!(found.unwrap().flight().is_some()),
        }
        assert_eq!(executed.load(Ordering::SeqCst), 1);
    }
}
