//! WebSockets between another implementation's ends, through one proxy and two.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::{SinkExt, StreamExt};
use http::{Method, Request, Response, StatusCode};
use tessera_proxy::address::DialAddress;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{
    Call, Plaintext, Pool, PoolOptions, Protocol, UpgradeAnswer, UpgradeOutcome,
};
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::http::server::{AcceptedConnection, UpgradeRequest, serve};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::handshake::server as handshake;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async, client_async};

use super::service::options;

/// A server that echoes messages; at `/no` it refuses, at `/leave` it disappears after one.
async fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut leaves = false;
                #[expect(clippy::result_large_err, reason = "the trait is tungstenite's")]
                let check = |request: &handshake::Request, response: handshake::Response| {
                    leaves = request.uri().path() == "/leave";
                    if request.uri().path() == "/no" {
                        let mut refusal = handshake::ErrorResponse::new(Some("not you".into()));
                        *refusal.status_mut() = StatusCode::FORBIDDEN;
                        refusal.headers_mut().insert("content-length", 7.into());
                        return Err(refusal);
                    }
                    Ok(response)
                };
                let Ok(mut socket) = accept_hdr_async(socket, check).await else { return };
                while let Some(Ok(message)) = socket.next().await {
                    // A close is answered by the next read.
                    if leaves || !message.is_close() && socket.send(message).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// How a proxy reaches the next hop.
#[derive(Clone, Copy, PartialEq)]
enum Hop {
    Backend,
    Proxy,
}

async fn proxy(to: SocketAddr, hop: Hop) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connect = Arc::new(Plaintext(Protocol::Http2));
    let pool = Pool::new(connect, DialAddress::Tcp(to), PoolOptions::default());
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            socket.set_nodelay(true).unwrap();
            let pool = pool.clone();
            connections.spawn(async move {
                let service = |request| forward(pool.clone(), request, hop);
                let accepted = AcceptedConnection::plaintext(socket);
                serve(accepted, Arc::new(options()), service, std::future::pending()).await
            });
        }
    });
    address
}

async fn forward(pool: Pool, mut request: Request<Body>, hop: Hop) -> Response<Body> {
    let deadline = Deadline::after(Duration::from_secs(10));
    let Some(upgrade) = UpgradeRequest::take(&mut request) else {
        return pool.call(request, Call::until(deadline)).await.unwrap().response;
    };
    let protocol = upgrade.protocol();
    let UpgradeAnswer { outcome, .. } = match hop {
        Hop::Backend => pool.upgrade(request, protocol, deadline).await.unwrap(),
        Hop::Proxy => pool.extended_connect(request, protocol, deadline).await.unwrap(),
    };
    match outcome {
        UpgradeOutcome::Switched(response, stream) => upgrade.accept(response, stream),
        UpgradeOutcome::Refused(response) => response,
    }
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Io for S {}
type Socket = WebSocketStream<Box<dyn Io>>;

async fn over_http1(address: SocketAddr, path: &str) -> Result<Socket, Box<Error>> {
    let stream: Box<dyn Io> = Box::new(TcpStream::connect(address).await.unwrap());
    let uri = format!("ws://peer.example{path}");
    // A refusal is read to the end of its connection.
    let begun = tokio::time::timeout(Duration::from_secs(20), client_async(uri, stream));
    Ok(begun.await.unwrap().map_err(Box::new)?.0)
}

async fn over_http2(address: SocketAddr, path: &str) -> Result<Socket, Response<Bytes>> {
    let socket = TcpStream::connect(address).await.unwrap();
    socket.set_nodelay(true).unwrap();
    let (mut sender, connection) = h2::client::handshake(socket).await.unwrap();
    tokio::spawn(connection);
    while !sender.is_extended_connect_protocol_enabled() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut request = Request::new(());
    *request.method_mut() = Method::CONNECT;
    *request.uri_mut() = format!("https://peer.example{path}").parse().unwrap();
    request.headers_mut().insert("sec-websocket-version", http::HeaderValue::from_static("13"));
    request.extensions_mut().insert(h2::ext::Protocol::from_static("websocket"));
    let (response, send) = sender.send_request(request, false).unwrap();
    let (head, mut receive) = response.await.unwrap().into_parts();
    if head.status != StatusCode::OK {
        let body = receive.data().await.unwrap().unwrap();
        return Err(Response::from_parts(head, body));
    }
    for gone in ["connection", "upgrade", "sec-websocket-accept"] {
        assert!(!head.headers.contains_key(gone));
    }
    let stream: Box<dyn Io> = Box::new(Stream { receive, rest: Bytes::new(), send });
    Ok(WebSocketStream::from_raw_socket(stream, Role::Client, None).await)
}

/// Clients over both versions of HTTP, through one proxy and two.
async fn clients(path: &str) -> Vec<Socket> {
    let one = proxy(backend().await, Hop::Backend).await;
    let two = proxy(one, Hop::Proxy).await;
    let mut clients = Vec::new();
    for address in [one, two] {
        clients.push(over_http1(address, path).await.unwrap());
        clients.push(over_http2(address, path).await.unwrap());
    }
    clients
}

#[tokio::test]
async fn messages_are_echoed() {
    for mut client in clients("/chat").await {
        for len in [0, 1, 125, 126, 70_000] {
            let message = Message::binary(vec![7; len]);
            client.send(message.clone()).await.unwrap();
            assert_eq!(client.next().await.unwrap().unwrap(), message);
        }
        client.close(None).await.unwrap();
        while let Some(message) = client.next().await {
            assert!(message.unwrap().is_close());
        }
    }
}

#[tokio::test]
async fn large_messages_arrive_at_a_slow_reader() {
    for client in clients("/chat").await {
        let (mut send, mut receive) = client.split();
        let message = Message::binary(vec![7; 1 << 20]);
        let sent = message.clone();
        let sending = tokio::spawn(async move {
            for _ in 0..3 {
                send.send(sent.clone()).await.unwrap();
            }
            send
        });
        for _ in 0..3 {
            // Everything in between is full.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let next = tokio::time::timeout(Duration::from_secs(60), receive.next());
            assert_eq!(next.await.unwrap().unwrap().unwrap(), message);
        }
        drop(sending.await.unwrap());
    }
}

#[tokio::test]
async fn a_refusal_arrives_with_its_body() {
    let one = proxy(backend().await, Hop::Backend).await;
    let two = proxy(one, Hop::Proxy).await;
    for address in [one, two] {
        let Err(error) = over_http1(address, "/no").await else { panic!("accepted") };
        let Error::Http(response) = *error else { panic!("{error}") };
        assert_eq!(response.status(), 403);
        assert_eq!(response.body().as_deref(), Some(&b"not you"[..]));
        let Err(response) = over_http2(address, "/no").await else { panic!("accepted") };
        assert_eq!((response.status().as_u16(), &response.body()[..]), (403, &b"not you"[..]));
    }
}

#[tokio::test]
async fn a_backend_that_disappears_ends_the_client() {
    for mut client in clients("/leave").await {
        client.send(Message::text("go")).await.unwrap();
        let end = tokio::time::timeout(Duration::from_secs(10), client.next()).await.unwrap();
        assert!(end.is_none_or(|end| end.is_err()));
    }
}

/// The client's end of an HTTP/2 stream.
struct Stream {
    receive: h2::RecvStream,
    rest: Bytes,
    send: h2::SendStream<Bytes>,
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.rest.is_empty() {
            let Some(data) = ready!(self.receive.poll_data(cx)) else { return Poll::Ready(Ok(())) };
            self.rest = data.map_err(std::io::Error::other)?;
        }
        let count = self.rest.len().min(buffer.remaining());
        buffer.put_slice(&self.rest[..count]);
        self.rest.advance(count);
        let _ = self.receive.flow_control().release_capacity(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.send.reserve_capacity(data.len());
        while self.send.capacity() == 0 {
            let _ = ready!(self.send.poll_capacity(cx)).ok_or(std::io::ErrorKind::BrokenPipe)?;
        }
        let count = self.send.capacity().min(data.len());
        let data = Bytes::copy_from_slice(&data[..count]);
        self.send.send_data(data, false).map_err(std::io::Error::other)?;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let end = self.send.send_data(Bytes::new(), true);
        Poll::Ready(end.map_err(std::io::Error::other))
    }
}
