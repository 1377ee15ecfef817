//! A pooled client of hyper-util, whose first request on a new connection travels as early data.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::common::executed::{ExecutionCount, Sessions, relay};
use crate::common::{self, Ends, SERVER_NAME, forward_secret};
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Response, Uri, Version};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera::resume::Verdict;
use tessera_tokio::hyper::{FlightReport, HttpsConnector, first_flight_error};
use tessera_tokio::{Connector, FirstFlightError, Limits, Server, StreamInfo, TlsListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tower_service::Service;

const H1: &[&[u8]] = &[b"http/1.1"];
const BOTH: &[&[u8]] = &[b"h2", b"http/1.1"];

/// Connects to one address, whatever the URI.
#[derive(Clone)]
struct FixedConnector(SocketAddr);

impl Service<Uri> for FixedConnector {
    type Response = TokioIo<TcpStream>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = std::io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let address = self.0;
        Box::pin(async move { TcpStream::connect(address).await.map(TokioIo::new) })
    }
}

type Pool = Client<HttpsConnector<FixedConnector>, Full<Bytes>>;

/// A server in this process, behind a relay that can swallow its answers.
struct Site {
    ends: Ends,
    executed: ExecutionCount,
    /// The address that clients connect to.
    address: SocketAddr,
    swallows: Arc<AtomicBool>,
    sessions: Arc<Sessions>,
}

async fn execute(
    State(executed): State<ExecutionCount>,
    ConnectInfo(client): ConnectInfo<StreamInfo>,
    request: Request,
) -> String {
    executed.note(request.uri().path());
    format!("{:?} {}", client.facts.early_data, client.address.port())
}

impl Site {
    async fn start(protocols: &[&[u8]]) -> Self {
        let mut ends = forward_secret();
        ends.client.protocols = protocols.iter().map(|it| it.to_vec()).collect();
        ends.server.protocols = ends.client.protocols.clone();
        let executed = ExecutionCount::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let listener = Server::new(listener, ends.acceptor(), Limits::for_connections(100));
        let router = Router::new()
            .fallback(execute)
            .with_state(executed.clone())
            .into_make_service_with_connect_info::<StreamInfo>();
        tokio::spawn(async move { axum::serve(TlsListener::new(listener), router).await });
        let swallows = Arc::<AtomicBool>::default();
        let address = relay(server, swallows.clone(), executed.all.clone()).await;
        Self { ends, executed, address, swallows, sessions: Arc::default() }
    }

    fn connector(&self) -> Connector {
        self.ends.connector().with_sessions(self.sessions.clone())
    }

    /// Makes a client without connections, which keeps those it opens.
    fn pool_of(&self, connector: Connector) -> Pool {
        Client::builder(TokioExecutor::new())
            .build(HttpsConnector::over(FixedConnector(self.address), connector))
    }

    fn pool(&self) -> Pool {
        self.pool_of(self.connector())
    }

    /// Opens a first connection, and waits for its ticket.
    async fn prepare(&self) {
        let pool = self.pool();
        ask(&pool, "/prepare").await.unwrap();
        self.sessions.come().await;
    }
}

async fn ask(pool: &Pool, path: &str) -> Result<Response<String>, Error> {
    let uri: Uri = format!("https://{SERVER_NAME}{path}").parse().unwrap();
    let (head, body) = pool.get(uri).await?.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Ok(Response::from_parts(head, String::from_utf8(body.to_vec()).unwrap()))
}

#[tokio::test]
async fn the_first_request_of_a_connection_travels_as_early_data() {
    for (protocols, version) in [(H1, Version::HTTP_11), (BOTH, Version::HTTP_2)] {
        let site = Site::start(protocols).await;
        site.prepare().await;
        for round in 0..3 {
            // A new connection each time.
            let path = format!("/{round}");
            let pool = site.pool();
            let response = ask(&pool, &path).await.unwrap();
            assert_eq!(response.version(), version);
            assert!(response.body().starts_with("Accepted"), "{}", response.body());
            let report = response.extensions().get::<FlightReport>().unwrap();
            assert!(report.early_data().accepted > 20 && report.error().is_none());
            assert_eq!(site.executed.times(&path), 1);
            // The ticket follows the answer; the pool keeps reading.
            site.sessions.come().await;
        }
    }
}

#[tokio::test]
async fn further_requests_use_the_connection_of_the_first() {
    for (protocols, count) in [(H1, 1), (BOTH, 1)] {
        let site = Site::start(protocols).await;
        let pool = site.pool();
        let mut connections = std::collections::HashSet::new();
        for round in 0..4 {
            let response = ask(&pool, &format!("/{round}")).await.unwrap();
            connections.insert(response.into_body());
        }
        assert_eq!(connections.len(), count, "{connections:?}");
    }
}

#[tokio::test]
async fn plaintext_is_refused_unless_it_is_allowed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connector = HttpsConnector::over(FixedConnector(address), forward_secret().connector());
    let uri = Uri::from_static("http://server.example/");
    let client = |connector| -> Pool { Client::builder(TokioExecutor::new()).build(connector) };
    let error = client(connector.clone()).get(uri.clone()).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap();
    assert!(error.is_connect() && cause.to_string().contains("only https://"), "{cause}");
    let serving = async {
        // No client connected before.
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 5];
        socket.read_exact(&mut request).await.unwrap();
        assert_eq!(&request, b"GET /");
        socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    };
    let client = client(connector.with_plaintext_http());
    let (response, ()) = tokio::join!(client.get(uri), serving);
    assert_eq!(response.unwrap().status(), 204);
}

/// The server executes the flight, but the answer is lost: the client must not retry, whatever its settings.
#[tokio::test]
async fn a_flight_without_an_answer_is_an_error_with_its_name_and_executed_once() {
    for protocols in [H1, BOTH] {
        for retries in [true, false] {
            let site = Site::start(protocols).await;
            site.prepare().await;
            site.swallows.store(true, Ordering::SeqCst);
            let pool: Pool = Client::builder(TokioExecutor::new())
                .retry_canceled_requests(retries)
                .build(HttpsConnector::over(FixedConnector(site.address), site.connector()));
            let error = ask(&pool, "/once").await.unwrap_err();
            let found = first_flight_error(&error).unwrap();
            assert_eq!(found.verdict(), Some(Verdict::Unknown), "{error:?}");
            assert!(found.flight().is_some() && !found.may_be_sent_again());
            // The pool continues with other connections.
            site.swallows.store(false, Ordering::SeqCst);
            ask(&pool, "/next").await.unwrap();
            assert_eq!((site.executed.times("/once"), site.executed.times("/next")), (1, 1));
        }
    }
}

/// Several requests wait for one connection: each is executed at most once, and an unanswered one fails with
/// an error.
#[tokio::test]
async fn requests_next_to_an_unanswered_flight_are_executed_once_at_most() {
    for protocols in [H1, BOTH] {
        let site = Site::start(protocols).await;
        site.prepare().await;
        site.swallows.store(true, Ordering::SeqCst);
        let (pool, mut executed) = (site.pool(), site.executed.all.subscribe());
        let asked: Vec<_> = (0..8)
            .map(|index| {
                let pool = pool.clone();
                tokio::spawn(async move { ask(&pool, &format!("/{index}")).await })
            })
            .collect();
        // A request that was in no connection yet may get one now.
        executed.changed().await.unwrap();
        site.swallows.store(false, Ordering::SeqCst);
        for (index, asked) in asked.into_iter().enumerate() {
            let answer = timeout(Duration::from_secs(20), asked).await.expect("no end").unwrap();
            let times = site.executed.times(&format!("/{index}"));
            match answer {
                Ok(_) => assert_eq!(times, 1),
                Err(error) => assert!(times <= 1, "{times} times: {error:?}"),
            }
        }
    }
}

#[tokio::test]
async fn after_the_verdict_used_nothing_is_sent_again() {
    for protocols in [H1, BOTH] {
        for retries in [true, false] {
            let mut site = Site::start(protocols).await;
            site.sessions = Arc::new(Sessions::twice());
            site.prepare().await;
            let pool = || -> Pool {
                Client::builder(TokioExecutor::new())
                    .retry_canceled_requests(retries)
                    .build(HttpsConnector::over(FixedConnector(site.address), site.connector()))
            };
            ask(&pool(), "/first").await.unwrap();
            let error = ask(&pool(), "/second").await.unwrap_err();
            let found = first_flight_error(&error).unwrap();
            assert_eq!(found.verdict(), Some(Verdict::Used), "{error:?}");
            assert!(found.flight().is_some());
            let executed = ["/first", "/second"].map(|path| site.executed.times(path));
            assert_eq!(executed, [1, 0]);
        }
    }
}

#[tokio::test]
async fn an_error_of_a_first_flight_is_found_behind_others() {
    for protocols in [H1, BOTH] {
        let site = Site::start(protocols).await;
        site.prepare().await;
        site.swallows.store(true, Ordering::SeqCst);
        let error = ask(&site.pool(), "/once").await.unwrap_err();
        let wrapped = std::io::Error::other(error);
        let found: FirstFlightError = first_flight_error(&wrapped).unwrap();
        assert_eq!(found.verdict(), Some(Verdict::Unknown));
        assert!(first_flight_error(&std::io::Error::other("another")).is_none());
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_is_executed_once_at_most() {
    for protocols in [H1, BOTH] {
        let site = Site::start(protocols).await;
        site.prepare().await;
        let (pool, mut executed) = (site.pool(), site.executed.all.subscribe());
        {
            // Drop it as soon as its flight was executed.
            let asking = ask(&pool, "/dropped");
            tokio::select! {
                _ = asking => (),
                _ = executed.changed() => (),
            }
        }
        ask(&pool, "/next").await.unwrap();
        assert!(site.executed.times("/dropped") <= 1);
        assert_eq!(site.executed.times("/next"), 1);
    }
}

/// A request larger than early data allows continues after the handshake, once.
#[tokio::test]
async fn a_large_request_goes_early_in_part_and_is_executed_once() {
    for protocols in [H1, BOTH] {
        let site = Site::start(protocols).await;
        site.prepare().await;
        let uri: Uri = format!("https://{SERVER_NAME}/large").parse().unwrap();
        let body = Full::new(Bytes::from(common::bytes(300_000)));
        let request = hyper::Request::post(uri).body(body).unwrap();
        let response = site.pool().request(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(site.executed.times("/large"), 1);
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_or_leaves_is_an_error() {
    for answer in [&b""[..], b"HTTP/1.1 200 OK\r\n\r\n", &[22, 3, 3, 0, 1, 99]] {
        let site = Site::start(BOTH).await;
        site.prepare().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            assert!(socket.read(&mut [0; 100]).await.unwrap() > 0);
            socket.write_all(answer).await.unwrap();
            let _ = socket.shutdown().await;
            // Ignore whatever else the client sends.
            let _ = copy(&mut socket, &mut tokio::io::sink()).await;
        });
        let pool: Pool = Client::builder(TokioExecutor::new())
            .build(HttpsConnector::over(FixedConnector(address), site.connector()));
        let error = ask(&pool, "/absent").await.unwrap_err();
        // It was sent, and may have been executed.
        let found = first_flight_error(&error).unwrap();
        assert_eq!(found.verdict(), Some(Verdict::Unknown), "{error:?}");
        drop(pool);
        serving.await.unwrap();
    }
}
