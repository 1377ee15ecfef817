//! Answers HTTP requests with a page about the connection: HTTP/2 where it was negotiated, else HTTP/1.x.

use std::error::Error;
use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;

use super::client::until_its_end;
use super::page;
use super::shared::Shared;

/// The protocols offered by default, in order of preference (RFC 7301 §6, RFC 9113 §3.2).
pub(super) const PROTOCOLS: [&[u8]; 3] = [b"h2", b"http/1.1", b"http/1.0"];

/// Serves a client until it leaves. The head of an HTTP/1.x request may take about as long as the idle limit; in HTTP/2
/// each byte resets that limit, and the limits by address bound clients that send slowly.
pub(super) async fn answer(client: &Shared, idle: Duration) -> io::Result<()> {
    let (mut ending, is_h2) = {
        let client = client.lock();
        (client.ending.clone(), client.stream.protocol() == Some(b"h2"))
    };
    let ending = async {
        ending.begun().await;
        // hyper closes a connection that it has read nothing from at once, although a request may be in flight.
        client.has_asked().await;
    };
    let service = {
        let client = client.clone();
        service_fn(move |request| respond(request, client.clone()))
    };
    let io = TokioIo::new(client.clone());
    let served = if is_h2 {
        let mut server = http2::Builder::new(TokioExecutor::new());
        server.timer(TokioTimer::new()).max_header_list_size(LONGEST_HEAD);
        let connection = server.serve_connection(io, service);
        serve(connection, http2::Connection::graceful_shutdown, ending, client).await?
    } else {
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(longest_wait_for_a_head(idle));
        server.max_buf_size(LONGEST_HEAD as usize).half_close(true).title_case_headers(true);
        let connection = server.serve_connection(io, service);
        serve(connection, http1::Connection::graceful_shutdown, ending, client).await?
    };
    let Err(error) = served else {
        take_the_rest(client).await;
        return Ok(());
    };
    if let Some(io) = failure(&error) {
        return Err(io);
    }
    // A client that doesn't speak HTTP still gets close_notify: nothing is missing.
    let ended = client.clone().shutdown().await;
    take_the_rest(client).await;
    if error.is_timeout() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "the request took too long"));
    }
    ended
}

/// Drives a connection to its end. When the server ends, the connection ends once its requests are answered.
async fn serve<C: Future<Output = hyper::Result<()>>>(
    connection: C,
    shut_down: fn(Pin<&mut C>),
    ending: impl Future<Output = ()>,
    client: &Shared,
) -> io::Result<hyper::Result<()>> {
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        served = connection.as_mut() => Ok(served),
        () = ending => {
            shut_down(connection.as_mut());
            let served = connection.await;
            until_its_end(&mut client.clone()).await?;
            Ok(served)
        }
    }
}

/// Reads what a client sends after an early answer: data that arrives at a closed socket resets the connection, and the
/// answer is lost with it (RFC 9112 §9.6).
async fn take_the_rest(client: &Shared) {
    // The client has its answer, and may end the connection in any way.
    let _ = until_its_end(&mut client.clone()).await;
}

/// hyper's timer also runs between requests. It must be longer than the idle limit, so that idle connections end by
/// that.
fn longest_wait_for_a_head(idle: Duration) -> Option<Duration> {
    const YEAR: Duration = Duration::from_secs(366 * 24 * 3600);
    (idle < YEAR).then_some(idle + Duration::from_secs(1))
}

/// Returns the failure of the connection, if it is more than malformed HTTP.
fn failure(error: &hyper::Error) -> Option<io::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io::Error::new(io.kind(), io.to_string()));
        }
        if error.source().is_none() && error.is::<hyper::Error>() {
            break;
        }
        cause = error.source();
    }
    None
}

async fn respond(
    mut request: Request<Incoming>,
    client: Shared,
) -> io::Result<Response<Full<Bytes>>> {
    discard(request.body_mut()).await;
    let mut response = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, path) => match path {
            "/" => html(&client),
            "/keyupdate" => {
                let watch = client.lock().stream.handshake_watch();
                watch.completed().await?;
                client.lock().change_keys();
                html(&client)
            }
            "/facts.json" => content("application/json", page::json(&client.lock().facts(None))),
            _ => plain(StatusCode::NOT_FOUND),
        },
        _ => {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            response
        }
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if request.method() == Method::HEAD {
        // hyper drops bodies of HEAD responses in HTTP/1.x only.
        let body = std::mem::take(response.body_mut());
        if let Some(len) = body.size_hint().exact() {
            response.headers_mut().insert(CONTENT_LENGTH, len.into());
        }
    }
    if request.version() == Version::HTTP_10 && !keeps_alive(&request) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

/// Reads a short request body. HTTP/2 resets a stream that is answered before its request is complete with NO_ERROR
/// (RFC 9113 §8.1), which curl 7.88 treats as a failure.
async fn discard(body: &mut Incoming) {
    if body.size_hint().lower() > MOST_DISCARDED {
        return;
    }
    let mut taken = 0;
    while taken <= MOST_DISCARDED
        && let Some(Ok(frame)) = body.frame().await
    {
        taken += frame.data_ref().map_or(0, Bytes::len) as u64;
    }
}

/// Whether a client of HTTP/1.0 wants to keep the connection (RFC 9112 §9.3). hyper then confirms that in its response.
fn keeps_alive<B>(request: &Request<B>) -> bool {
    let options = request.headers().get_all(CONNECTION).into_iter();
    let mut options = options.filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(','));
    options.any(|it| it.trim().eq_ignore_ascii_case("keep-alive"))
}

fn html(client: &Shared) -> Response<Full<Bytes>> {
    content("text/html; charset=utf-8", page::html(&client.lock().facts(None)))
}

fn content(content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = content("text/plain", format!("{status}\n"));
    *response.status_mut() = status;
    response
}

/// In bytes. A longer body is answered without being read.
const MOST_DISCARDED: u64 = 16 * 1024;

/// In bytes.
const LONGEST_HEAD: u32 = 16 * 1024;
