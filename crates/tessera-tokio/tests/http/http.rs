//! HTTP/1.1 and h2 on top, and early data in HTTP (RFC 8470).

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;

use crate::common::{
    self, EarlyDataReport, Ends, destination, ends, forward_secret, replayable, settled,
};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera::handshake::EarlyDataStatus;
use tessera_tokio::http::{EARLY_DATA, EarlyRequest, check, mark};
use tessera_tokio::{Acceptor, ClientStream, Connector, HandshakeWatch};
use tessera_tokio::{MemorySessionStore, ServerStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

/// Sockets of a connection over loopback.
async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

fn speaking(protocols: &[&[u8]], mut ends: Ends) -> Ends {
    ends.client.protocols = protocols.iter().map(|it| it.to_vec()).collect();
    ends.server.protocols = ends.client.protocols.clone();
    ends
}

/// Sends the body back.
async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    Ok(Response::new(Full::new(body)))
}

/// Serves the negotiated protocol.
async fn serve(stream: ServerStream<TcpStream>) {
    let is_h2 = stream.protocol() == Some(b"h2");
    let io = TokioIo::new(stream);
    let served = if is_h2 {
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        server.serve_connection(io, service_fn(echo)).await
    } else {
        hyper::server::conn::http1::Builder::new().serve_connection(io, service_fn(echo)).await
    };
    served.unwrap();
}

fn request(body: &Bytes) -> Request<Full<Bytes>> {
    let request = Request::builder().method(Method::POST).uri("https://server.example/");
    request.header("host", "server.example").body(Full::new(body.clone())).unwrap()
}

async fn streams(ends: &Ends) -> (ClientStream<TcpStream>, ServerStream<TcpStream>) {
    let (near, far) = sockets().await;
    let (connector, acceptor) = (ends.connector(), ends.acceptor());
    tokio::try_join!(connector.connect(destination(), near), acceptor.accept(far)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hyper_speaks_http_1_1_over_a_stream() {
    let ends = speaking(&[b"http/1.1"], ends());
    let (client, server) = streams(&ends).await;
    let server = tokio::spawn(serve(server));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(client)).await.unwrap();
    let connection = tokio::spawn(connection);
    let body = Bytes::from(common::bytes(1 << 20));
    for _ in 0..3 {
        sender.ready().await.unwrap();
        let response = sender.send_request(request(&body)).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), body);
    }
    drop(sender);
    connection.await.unwrap().unwrap();
    server.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hyper_speaks_h2_over_a_stream() {
    let ends = speaking(&[b"h2", b"http/1.1"], ends());
    let (client, server) = streams(&ends).await;
    assert_eq!(client.protocol(), Some(&b"h2"[..]));
    let server = tokio::spawn(serve(server));
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(client))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let body = Bytes::from(common::bytes(1 << 20));
    let requests: Vec<_> = (0..8)
        .map(|_| {
            let (mut sender, body) = (sender.clone(), body.clone());
            tokio::spawn(async move {
                let response = sender.send_request(request(&body)).await.unwrap();
                assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), body);
            })
        })
        .collect();
    for request in requests {
        request.await.unwrap();
    }
    drop(sender);
    connection.await.unwrap().unwrap();
    server.await.unwrap();
}

/// Answers or refuses early requests; the body names which.
fn handle(
    mut request: Request<Incoming>,
    watch: HandshakeWatch,
) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    mark(&mut request, &watch);
    if let Err(too_early) = check(&request) {
        return ready(Ok(too_early.into_response()));
    }
    let field = request.headers().contains_key(EARLY_DATA);
    let early = request.extensions().get::<EarlyRequest>();
    let early = early.map(EarlyRequest::is_replayable);
    ready(Ok(Response::new(Full::new(format!("{early:?} {field}").into()))))
}

/// Returns a connector with a session.
async fn prepared(ends: &Ends) -> Connector {
    let connector = ends.connector().with_sessions(Arc::new(MemorySessionStore::default()));
    let (near, far) = sockets().await;
    let acceptor = ends.acceptor();
    let (client, server) =
        tokio::join!(connector.connect(destination(), near), acceptor.accept(far));
    let (mut client, mut server) = (client.unwrap(), server.unwrap());
    server.shutdown().await.unwrap();
    client.read_to_end(&mut Vec::new()).await.unwrap();
    client.shutdown().await.unwrap();
    connector
}

async fn serve_early(acceptor: Acceptor, socket: TcpStream, handled: Arc<Notify>) {
    let mut stream = acceptor.accept_early(socket).await.unwrap();
    let watch = stream.handshake_watch();
    let service = service_fn(move |request| {
        let response = handle(request, watch.clone());
        handled.notify_one();
        response
    });
    let server = hyper::server::conn::http1::Builder::new();
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

/// Sends a request as early data, and withholds the handshake's end until it is answered.
async fn early(ends: &Ends, method: &str) -> String {
    let connector = prepared(ends).await;
    let (near, far) = sockets().await;
    let handled = Arc::new(Notify::new());
    let server = tokio::spawn(serve_early(ends.acceptor(), far, handled.clone()));
    let request = format!("{method} / HTTP/1.1\r\nHost: server.example\r\n\r\n");
    let mut stream = connector.start(destination(), near).await.unwrap();
    assert_eq!(stream.write_early(request.as_bytes()).await.unwrap(), request.len());
    // The server got the whole request with its first flight, and answers it right after its own flight.
    handled.notified().await;
    stream.handshake().await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: server.example\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut responses = String::new();
    stream.read_to_string(&mut responses).await.unwrap();
    server.await.unwrap();
    let after = responses.rsplit("\r\n").next().unwrap();
    assert_eq!(after, "None false", "a request after the handshake is not marked: {responses}");
    responses
}

#[tokio::test]
async fn a_replayable_request_is_marked_and_an_unsafe_one_refused() {
    let ends = speaking(&[b"http/1.1"], replayable());
    let responses = early(&ends, "GET").await;
    assert!(responses.contains("Some(true) true"), "{responses}");
    let responses = early(&ends, "DELETE").await;
    assert!(responses.starts_with("HTTP/1.1 425 Too Early"), "{responses}");
}

#[tokio::test]
async fn a_forward_secret_request_is_never_too_early() {
    let ends = speaking(&[b"http/1.1"], forward_secret());
    let responses = early(&ends, "DELETE").await;
    assert!(responses.starts_with("HTTP/1.1 200"), "{responses}");
    assert!(responses.contains("Some(false) false"), "{responses}");
}

#[test]
fn the_early_data_header_of_an_intermediary_is_believed() {
    let mut request = Request::post("/").body(Empty::<Bytes>::new()).unwrap();
    assert!(check(&request).is_ok());
    request.headers_mut().append(EARLY_DATA, "1".parse().unwrap());
    request.headers_mut().append(EARLY_DATA, "2".parse().unwrap());
    let response: Response<()> = check(&request).unwrap_err().into_response();
    assert_eq!(response.status(), StatusCode::TOO_EARLY);
    *request.method_mut() = Method::GET;
    assert!(check(&request).is_ok());
}

#[tokio::test]
async fn a_client_gets_its_early_request_through_hyper() {
    let ends = speaking(&[b"http/1.1"], forward_secret());
    let connector = prepared(&ends).await;
    let (near, far) = sockets().await;
    let server = tokio::spawn(serve_early(ends.acceptor(), far, Arc::default()));
    let request = b"GET / HTTP/1.1\r\nHost: server.example\r\nConnection: close\r\n\r\n";
    let connecting = connector.connect_with_early_data(destination(), near, request);
    let (mut stream, early_data) = settled(connecting.await);
    assert_eq!(early_data, EarlyDataReport::Accepted(request.len()));
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    server.await.unwrap();
}

/// A request that must not be replayed may wait for the handshake, which continues meanwhile.
#[tokio::test]
async fn an_http_handler_may_wait_for_the_handshake() {
    let ends = speaking(&[b"http/1.1"], replayable());
    let connector = prepared(&ends).await;
    let (near, far) = sockets().await;
    let mut stream = connector.start(destination(), near).await.unwrap();
    let request = b"DELETE / HTTP/1.1\r\nHost: server.example\r\nConnection: close\r\n\r\n";
    stream.write_early(request).await.unwrap();
    let acceptor = ends.acceptor();
    let handled = Arc::new(Notify::new());
    let is_handled = handled.clone();
    let server = tokio::spawn(async move {
        let mut stream = acceptor.accept_early(far).await.unwrap();
        let watch = stream.handshake_watch();
        let service = service_fn(move |mut request: Request<Incoming>| {
            mark(&mut request, &watch);
            assert!(check(&request).is_err());
            handled.notify_one();
            async move {
                request.extensions().get::<EarlyRequest>().unwrap().completed().await.unwrap();
                assert!(check(&request).is_ok());
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("done"))))
            }
        });
        let server = hyper::server::conn::http1::Builder::new();
        server.serve_connection(TokioIo::new(stream), service).await
    });
    is_handled.notified().await;
    assert!(!server.is_finished());
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("done"), "{response}");
    server.await.unwrap().unwrap();
}

/// HTTP/2 treats early data like HTTP/1.1: each request is marked individually.
#[tokio::test]
async fn each_early_request_in_h2_is_marked_by_itself() {
    let ends = speaking(&[b"h2"], replayable());
    let connector = prepared(&ends).await;
    let (near, far) = sockets().await;
    let acceptor = ends.acceptor();
    let (saw, mut seen) = mpsc::unbounded_channel();
    let server = tokio::spawn(async move {
        let mut stream = acceptor.accept_early(far).await.unwrap();
        let watch = stream.handshake_watch();
        let service = service_fn(move |mut request: Request<Incoming>| {
            mark(&mut request, &watch);
            let is_marked = request.headers().get(EARLY_DATA).is_some_and(|it| it == "1");
            saw.send((request.method().clone(), is_marked, check(&request).is_ok())).unwrap();
            ready(Ok::<_, Infallible>(match check(&request) {
                Err(too_early) => too_early.into_response(),
                Ok(()) => Response::new(Full::new(Bytes::new())),
            }))
        });
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let _ = server.serve_connection(TokioIo::new(stream), service).await;
    });
    let mut stream = connector.start(destination(), near).await.unwrap();
    // RFC 9113 §3.4: the preface and SETTINGS; then GET and POST as RFC 7541 §A numbers them.
    let early = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &[0, 0, 0, 4, 0, 0, 0, 0, 0],
        &headers(1, GET),
        &headers(3, POST),
    ];
    let early = early.concat();
    assert_eq!(stream.write_early(&early).await.unwrap(), early.len());
    assert_eq!(seen.recv().await, Some((Method::GET, true, true)));
    assert_eq!(seen.recv().await, Some((Method::POST, true, false)), "425");
    stream.handshake().await.unwrap();
    assert_eq!(stream.facts().early_data, EarlyDataStatus::Accepted);
    // The server reads this after it completed the handshake.
    stream.write_all(&headers(5, POST)).await.unwrap();
    assert_eq!(seen.recv().await, Some((Method::POST, false, true)));
    drop(stream);
    server.await.unwrap();
}

const GET: u8 = 0x82;
const POST: u8 = 0x83;

/// Makes a request without a body to `https://server.example/`.
fn headers(stream: u8, method: u8) -> Vec<u8> {
    const END: u8 = 1 | 4;
    // :scheme https, :path /, :authority in full.
    let mut block = vec![method, 0x87, 0x84, 0x41, 14];
    block.extend_from_slice(b"server.example");
    [&[0, 0, block.len() as u8, 1, END, 0, 0, 0, stream][..], &block].concat()
}
