//! The processor time of the HTTP/2 server next to hyper's: `http2-server [REQUESTS ROUNDS]`. See README.md.

#![expect(clippy::unwrap_used, reason = "a measurement ends at the first fault")]

use std::convert::Infallible;
use std::env;
use std::future::Future;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{client, server};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use nix::time::{ClockId, clock_gettime};
use tessera_bench::numbers::{machine, median};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Who serves a connection.
#[derive(Clone, Copy)]
enum Server {
    /// [`serve`], as `tessera sepp` uses it.
    Tessera,
    /// hyper with the limits on time and length that it leaves to its services.
    Hyper,
    /// hyper without them.
    BareHyper,
}

const SERVERS: [Server; 3] = [Server::Tessera, Server::Hyper, Server::BareHyper];

/// Concurrent requests, and the bytes of a request's and an answer's body.
const ROWS: [(usize, usize, usize); 4] =
    [(1, 1_000, 1_000), (40, 1_000, 1_000), (40, 0, 1_000), (40, 1_000, 64_000)];

fn main() -> ExitCode {
    let numbers: Option<Vec<usize>> =
        env::args().skip(1).map(|argument| argument.parse().ok()).collect();
    let (requests, rounds) = match numbers.as_deref() {
        Some([]) => (10_000, 21),
        Some([requests, rounds]) if *requests >= 40 && *rounds > 0 => (*requests, *rounds),
        _ => {
            eprintln!("usage: http2-server [REQUESTS ROUNDS], at least 40 requests");
            return ExitCode::from(2);
        }
    };
    println!("{}\n", machine());
    println!(
        "| in flight | request | answer | Tessera | hyper | bare hyper | of hyper | of bare |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    for row @ (in_flight, asked, answered) in ROWS {
        let mut samples = [const { Vec::new() }; 3];
        for _ in 0..rounds {
            // In turn, so that other load of the machine affects all of them.
            for (server, samples) in SERVERS.into_iter().zip(&mut samples) {
                samples.push(round(server, row, requests).as_secs_f64() * 1e6 / requests as f64);
            }
        }
        let ratio = |other: &[f64]| {
            let ratios: Vec<_> = samples[0].iter().zip(other).map(|(own, it)| own / it).collect();
            median(&ratios).unwrap_or_default()
        };
        let [own, hyper, bare] = [0, 1, 2].map(|it| median(&samples[it]).unwrap_or_default());
        println!(
            "| {in_flight} | {asked} | {answered} | {own:.2} | {hyper:.2} | {bare:.2} | {:.2} | {:.2} |",
            ratio(&samples[1]),
            ratio(&samples[2]),
        );
    }
    println!(
        "\nProcessor time of the server's thread in us for each request, user and system: medians of {rounds} \
         connections with {requests} requests each, and of the ratios of connections in turn."
    );
    ExitCode::SUCCESS
}

/// Returns the processor time of the server's thread for one connection.
fn round(server: Server, row: (usize, usize, usize), requests: usize) -> Duration {
    let (in_flight, asked, answered) = row;
    let (told, address) = mpsc::channel();
    let served = thread::spawn(move || {
        runtime().block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap()).unwrap();
            let (socket, _) = listener.accept().await.unwrap();
            socket.set_nodelay(true).unwrap();
            let before = used();
            connection(server, socket, Bytes::from(vec![b'a'; answered])).await;
            used() - before
        })
    });
    let body = Bytes::from(vec![b'q'; asked]);
    let address = address.recv().unwrap();
    runtime().block_on(send(address, body, in_flight, requests, answered));
    served.join().unwrap()
}

async fn connection(server: Server, socket: TcpStream, answer: Bytes) {
    match server {
        Server::Tessera => {
            let service = async |request: Request<Body>| {
                request.into_body().collect().await.unwrap();
                Response::new(Body::full(answer.clone()))
            };
            let never = std::future::pending();
            serve(AcceptedConnection::plaintext(socket), Arc::new(options()), service, never).await;
        }
        Server::Hyper => {
            let service = move |request: Request<Incoming>| {
                let answer = answer.clone();
                async move {
                    let limits = ServerOptions::default();
                    let limit = usize::try_from(limits.body.max_len).unwrap();
                    let read = Limited::new(request.into_body(), limit).collect();
                    timeout(limits.request_time, read).await.unwrap().unwrap();
                    Ok(Response::new(Full::new(answer)))
                }
            };
            serve_by_hyper(socket, service).await;
        }
        Server::BareHyper => {
            let service = move |request: Request<Incoming>| {
                let answer = answer.clone();
                async move {
                    request.into_body().collect().await.unwrap();
                    Ok(Response::new(Full::new(answer)))
                }
            };
            serve_by_hyper(socket, service).await;
        }
    }
}

async fn serve_by_hyper<F>(socket: TcpStream, service: impl Fn(Request<Incoming>) -> F)
where
    F: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send + 'static,
{
    let ServerOptions { streams, stream_window, connection_window, .. } = options();
    let mut server = server::conn::http2::Builder::new(TokioExecutor::new());
    server.timer(TokioTimer::new()).max_concurrent_streams(streams);
    server.initial_stream_window_size(stream_window);
    server.initial_connection_window_size(connection_window);
    server.keep_alive_interval(Duration::from_secs(60));
    server.serve_connection(TokioIo::new(socket), service_fn(service)).await.unwrap();
}

/// Sends the requests, so many at a time, and reads the answers.
async fn send(
    address: SocketAddr,
    body: Bytes,
    in_flight: usize,
    requests: usize,
    answered: usize,
) {
    let socket = TcpStream::connect(address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let (sender, connection) = client::conn::http2::handshake::<_, _, Full<Bytes>>(
        TokioExecutor::new(),
        TokioIo::new(socket),
    )
    .await
    .unwrap();
    let connection = tokio::spawn(connection);
    let mut loops = JoinSet::new();
    for _ in 0..in_flight {
        let (mut sender, body) = (sender.clone(), body.clone());
        loops.spawn(async move {
            for _ in 0..requests / in_flight {
                let request =
                    Request::post("http://nf.example/nudm-sdm/v2/imsi-999700000000001/am-data")
                        .header("content-type", "application/json")
                        .header("accept", "application/json")
                        .header("user-agent", "AMF")
                        .body(Full::new(body.clone()))
                        .unwrap();
                let response = sender.send_request(request).await.unwrap();
                let read = response.into_body().collect().await.unwrap().to_bytes();
                assert_eq!(read.len(), answered);
            }
        });
    }
    loops.join_all().await;
    drop(sender);
    connection.await.unwrap().unwrap();
}

/// Both servers' limits.
fn options() -> ServerOptions {
    ServerOptions { streams: 256, ..ServerOptions::default() }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Returns the processor time that this thread has used.
fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}
