//! Well-formed requests, from hyper's clients.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::ServerOptions;
use tokio::io::DuplexStream;

use super::served::{ServedConnection, echo, stream_back};

/// A client of either protocol.
enum Client<B> {
    Http1(http1::SendRequest<B>),
    Http2(http2::SendRequest<B>),
}

impl<B> Client<B>
where
    B: http_body::Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
{
    async fn http1(io: DuplexStream) -> Self {
        let (client, connection) = http1::handshake(TokioIo::new(io)).await.unwrap();
        tokio::spawn(connection);
        Self::Http1(client)
    }

    async fn http2(io: DuplexStream) -> Self {
        let made = http2::handshake(TokioExecutor::new(), TokioIo::new(io)).await;
        let (client, connection) = made.unwrap();
        tokio::spawn(connection);
        Self::Http2(client)
    }

    async fn send(&mut self, mut request: Request<B>) -> Response<Incoming> {
        match self {
            Self::Http1(client) => {
                request.headers_mut().insert("host", HeaderValue::from_static("a"));
                client.ready().await.unwrap();
                client.send_request(request).await.unwrap()
            }
            Self::Http2(client) => client.send_request(request).await.unwrap(),
        }
    }
}

fn request<B>(method: Method, body: B) -> Request<B> {
    Request::builder().method(method).uri("http://a/x").body(body).unwrap()
}

#[tokio::test(start_paused = true)]
async fn answers_have_date_and_length_and_no_body_after_head_or_204() {
    for http2 in [false, true] {
        let (io, _served) =
            ServedConnection::start(ServerOptions::default(), |request| async move {
                match request.method() {
                    &Method::DELETE => {
                        let mut response = Response::new(Body::full("not to be seen".into()));
                        *response.status_mut() = StatusCode::NO_CONTENT;
                        response
                    }
                    _ => Response::new(Body::full("hello".into())),
                }
            });
        let mut client = if http2 { Client::http2(io).await } else { Client::http1(io).await };
        let empty = Full::<Bytes>::default;
        let got = client.send(request(Method::GET, empty())).await;
        assert_eq!(got.headers()["content-length"], "5");
        assert!(got.headers()["date"].to_str().unwrap().ends_with(" GMT"));
        assert_eq!(got.into_body().collect().await.unwrap().to_bytes(), "hello");
        let got = client.send(request(Method::HEAD, empty())).await;
        assert_eq!(got.headers()["content-length"], "5");
        assert!(got.into_body().collect().await.unwrap().to_bytes().is_empty());
        let got = client.send(request(Method::DELETE, empty())).await;
        assert_eq!(got.status(), StatusCode::NO_CONTENT);
        assert!(!got.headers().contains_key("content-length"));
        assert!(got.into_body().collect().await.unwrap().to_bytes().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn trailers_come_back_from_either_way_of_passing_them_on() {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    for collects in [false, true] {
        let (io, _served) =
            ServedConnection::start(ServerOptions::default(), move |request| async move {
                if collects { echo(request).await } else { stream_back(request).await }
            });
        let mut client = Client::http2(io).await;
        for data in ["", "some"] {
            let trailers = trailers.clone();
            let body = Full::new(Bytes::from(data))
                .with_trailers(std::future::ready(Some(Ok(trailers.clone()))));
            let got = client.send(request(Method::POST, Box::pin(body))).await;
            let got = got.into_body().collect().await.unwrap();
            assert_eq!(got.trailers(), Some(&trailers));
            assert_eq!(got.to_bytes(), data);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_too_long_is_refused_whether_announced_or_not() {
    let mut options = ServerOptions::default();
    options.body.max_len = 1000;
    for http2 in [false, true] {
        for announced in [false, true] {
            for (len, status) in [(1000, 200), (1001, 413)] {
                let (io, _served) = ServedConnection::start(options.clone(), echo);
                let mut client =
                    if http2 { Client::http2(io).await } else { Client::http1(io).await };
                let body = Full::new(Bytes::from(vec![0; len]));
                let body = if announced {
                    body.boxed()
                } else {
                    let unknown = http_body_util::StreamBody::new(futures_util::stream::once(
                        std::future::ready(Ok(Frame::data(Bytes::from(vec![0; len])))),
                    ));
                    unknown.boxed()
                };
                let got = client.send(request(Method::POST, body)).await;
                assert_eq!(got.status().as_u16(), status, "{http2} {announced}");
            }
        }
    }
}

/// A body of this many bytes, which counts how many were read.
struct CountedBody {
    left: u64,
    taken: Arc<AtomicU64>,
}

impl http_body::Body for CountedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        static PIECE: [u8; 16_384] = [b'x'; 16_384];
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let len = self.left.min(PIECE.len() as u64);
        self.left -= len;
        self.taken.fetch_add(len, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&PIECE[..len as usize])))))
    }
}

#[tokio::test]
async fn a_hundred_megabytes_go_through_without_being_kept() {
    const LEN: u64 = 100_000_000;
    for http2 in [false, true] {
        let (io, _served) = ServedConnection::start(ServerOptions::default(), stream_back);
        let mut client = if http2 { Client::http2(io).await } else { Client::http1(io).await };
        let taken = Arc::new(AtomicU64::new(0));
        let body = CountedBody { left: LEN, taken: taken.clone() };
        let mut got = client.send(request(Method::POST, body)).await.into_body();
        let (mut came, mut most) = (0, 0);
        while let Some(frame) = got.frame().await {
            came += frame.unwrap().into_data().unwrap().len() as u64;
            most = most.max(taken.load(Ordering::Relaxed) - came);
        }
        assert_eq!(came, LEN);
        // Windows, sockets and buffers of both ends.
        assert!(most < 4 << 20, "{most} bytes were under way");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_stops_the_body_that_it_sends() {
    let (io, _served) = ServedConnection::start(ServerOptions::default(), stream_back);
    let mut client = Client::http2(io).await;
    let taken = Arc::new(AtomicU64::new(0));
    let body = CountedBody { left: 100_000_000, taken: taken.clone() };
    let mut got = client.send(request(Method::POST, body)).await.into_body();
    tokio::time::sleep(std::time::Duration::from_secs(20)).await;
    assert!(taken.load(Ordering::Relaxed) < 4 << 20, "{taken:?}");
    // It is cut after 30 s without a byte.
    tokio::time::sleep(std::time::Duration::from_secs(20)).await;
    while let Some(Ok(_)) = got.frame().await {}
    assert!(got.frame().await.is_none_or(|frame| frame.is_err()));
}
