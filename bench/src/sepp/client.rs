//! The network functions that ask: HTTP/2 in plaintext, with several requests in flight.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::StatusCode;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::rt::{Read, Write};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Failure;
use crate::request::{ANSWER, request};

/// How long one request may take before it is an error.
const PATIENCE: Duration = Duration::from_secs(30);

/// Open connections to the first of two proxies.
pub(crate) struct Client {
    connections: Vec<SendRequest<Empty<Bytes>>>,
    to: SocketAddr,
}

impl Client {
    pub(crate) async fn connect(to: SocketAddr, connections: usize) -> Result<Self, Failure> {
        let mut open = Vec::new();
        for _ in 0..connections {
            let socket = TcpStream::connect(to).await?;
            socket.set_nodelay(true)?;
            open.push(http2(TokioIo::new(socket)).await?);
        }
        Ok(Self { connections: open, to })
    }

    /// Makes this many requests, this many at a time; returns how long each took. Fails if one of them fails.
    pub(crate) async fn requests(
        &self,
        count: usize,
        in_flight: usize,
    ) -> Result<Vec<Duration>, Failure> {
        let mut tasks = JoinSet::new();
        for number in 0..in_flight {
            let mut connection = self.connections[number % self.connections.len()].clone();
            let (share, to) = (count / in_flight, self.to.to_string());
            tasks.spawn(async move {
                let mut times = Vec::with_capacity(share);
                for _ in 0..share {
                    let began = Instant::now();
                    ask(&mut connection, &to, "http").await?;
                    times.push(began.elapsed());
                }
                Ok::<_, Failure>(times)
            });
        }
        let mut all = Vec::with_capacity(count);
        while let Some(times) = tasks.join_next().await {
            all.extend(times??);
        }
        Ok(all)
    }
}

/// Turns a stream into a connection, and drives it in the background.
pub(crate) async fn http2<T>(stream: T) -> Result<SendRequest<Empty<Bytes>>, Failure>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let (sender, connection) = Builder::new(TokioExecutor::new()).handshake(stream).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Makes one request, and reads its whole answer.
pub(crate) async fn ask(
    connection: &mut SendRequest<Empty<Bytes>>,
    to: &str,
    scheme: &str,
) -> Result<(), Failure> {
    tokio::time::timeout(PATIENCE, async {
        connection.ready().await?;
        let response = connection.send_request(request(to, scheme)?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status == StatusCode::OK && body == ANSWER {
            Ok(())
        } else {
            Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into())
        }
    })
    .await
    .map_err(|_| "no answer within half a minute")?
}
