//! Requests on one connection, with a constant number in flight.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// The number of requests in flight, and the duration.
#[derive(Clone, Copy)]
pub struct Load {
    pub in_flight: usize,
    pub time: Duration,
}

impl Load {
    /// Returns the number of answered requests.
    pub async fn run(
        self,
        address: SocketAddr,
    ) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (client, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await?;
        let connection = tokio::spawn(connection);
        let end = Instant::now() + self.time;
        let mut clients = JoinSet::new();
        for _ in 0..self.in_flight {
            let mut client = client.clone();
            clients.spawn(async move {
                let mut answered = 0;
                while Instant::now() < end {
                    let mut request = Request::new(Full::new(Bytes::from_static(&[b'x'; 170])));
                    *request.method_mut() = Method::POST;
                    *request.uri_mut() =
                        http::Uri::from_static("http://sepp.example/nudm-sdm/v2/x");
                    let response = client.send_request(request).await?;
                    let body = response.into_body().collect().await?.to_bytes();
                    assert_eq!(body.len(), 170);
                    answered += 1;
                }
                Ok::<u64, hyper::Error>(answered)
            });
        }
        let mut answered = 0;
        while let Some(client) = clients.join_next().await {
            answered += client??;
        }
        connection.abort();
        Ok(answered)
    }
}
