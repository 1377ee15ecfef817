//! Serves an HTTP/1.1 connection by hyper.

mod phase;
mod upgrades;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tessera_tokio::{HandshakeWatch, TrackedStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use self::phase::{Answer, Phase};
use self::upgrades::Upgrades;
use super::admit::{Admission, admit};
use super::alarm::{Alarm, tick};
use super::upgrade::{Asked, Carrier, asked};
use super::{Cause, ConnectionSummary, Io, Refusal, ServerOptions};
use crate::http::body::Body;
use crate::http::deadline::{Deadline, after};

/// What an HTTP/1.1 connection ended with.
pub(super) enum Ended<IO> {
    /// Its end.
    Connection(ConnectionSummary),
    /// Another protocol, after this many requests.
    Upgrade(Box<Carrier<Io<IO>>>, u64),
}

/// How long a client may keep sending after its last answer.
const LINGER: Duration = Duration::from_secs(2);

pub(super) async fn serve<IO, S, F>(
    io: Io<IO>,
    watch: Option<HandshakeWatch>,
    options: Arc<ServerOptions>,
    service: S,
    drain: Pin<&mut impl Future<Output = ()>>,
) -> Ended<IO>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    S: Fn(Request<Body>) -> F,
    F: Future<Output = Response<Body>>,
{
    let phase = Phase::begin();
    let requests = AtomicU64::new(0);
    let may_be_early = watch.is_some();
    let watch = Mutex::new(watch);
    let upgrades = Upgrades::default();
    let answer = service_fn(|request: Request<Incoming>| {
        requests.fetch_add(1, Ordering::Relaxed);
        let since = phase.request();
        let answer = respond(request, since, &watch, &options, &service, &upgrades);
        let phase = phase.clone();
        Box::pin(
            async move { Ok::<_, Infallible>(answer.await.map(|body| Answer::new(body, phase))) },
        )
    });
    let io = TokioIo::new(TrackedStream { stream: io, tracker: phase.clone() });
    let mut builder = builder(&options);
    // Half-close lets a client end its side before its answers. But hyper then doesn't read during a request, and one
    // that waits for the handshake would wait forever.
    builder.half_close(options.half_close && !may_be_early);
    let mut connection = builder.serve_connection(io, answer);
    let cause = drive(&mut connection, &phase, &options, drain, &upgrades).await;
    let http1::Parts { io, read_buf, .. } = connection.into_parts();
    let mut io = io.into_inner();
    let requests = requests.into_inner();
    match (cause, upgrades.take()) {
        (Cause::Closed, Some((other, held))) => {
            let mut io = io.stream;
            io.tracker.unread(read_buf);
            Ended::Upgrade(Box::new(Carrier::new(io, other, held, &options)), requests)
        }
        (cause, _) => {
            say_goodbye(&mut io, &cause).await;
            Ended::Connection(ConnectionSummary { requests, cause })
        }
    }
}

fn builder(options: &ServerOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .max_headers(options.head_fields)
        .max_buf_size((options.head_bytes as usize).max(8 * 1024))
        .auto_date_header(options.date);
    builder
}

/// Polls a connection until it ends or times out.
async fn drive<IO, S, B>(
    connection: &mut http1::Connection<IO, S>,
    phase: &Phase,
    options: &ServerOptions,
    mut drain: Pin<&mut impl Future<Output = ()>>,
    upgrades: &Upgrades,
) -> Cause
where
    IO: hyper::rt::Read + hyper::rt::Write + Unpin,
    S: hyper::service::HttpService<Incoming, ResBody = B> + Unpin,
    S::Future: Unpin,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let tick = tick(options).min((options.head_time / 8).max(Duration::from_millis(5)));
    let mut alarm = Alarm::at(after(Instant::now(), tick));
    let mut ending: Option<(Cause, Instant)> = None;
    std::future::poll_fn(|cx| {
        loop {
            if ending.is_none() && drain.as_mut().poll(cx).is_ready() {
                let at = after(Instant::now(), options.drain_time);
                ending = Some((Cause::Drained { cut: 0 }, at));
                alarm.no_later_than(at);
                upgrades.refuse();
                Pin::new(&mut *connection).graceful_shutdown();
            }
            if let Poll::Ready(ended) = connection.poll_without_shutdown(cx) {
                return Poll::Ready(match (ending.take(), ended) {
                    (Some((cause, _)), _) => cause,
                    (None, Ok(())) => Cause::Closed,
                    (None, Err(error)) => Cause::of(&error),
                });
            }
            if !phase.is_idle() {
                alarm.no_later_than(Instant::now() + tick);
            }
            if alarm.poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            if let Some((cause, at)) = &ending
                && now >= *at
            {
                return Poll::Ready(match cause {
                    Cause::Idle => Cause::Idle,
                    _ => Cause::Drained { cut: usize::from(!phase.is_idle()) },
                });
            }
            let due = match phase.due(now, options) {
                Ok(due) if phase.is_idle() => due,
                Ok(due) => due.min(now + tick),
                Err(Cause::Idle) if ending.is_none() => {
                    let at = now + LINGER;
                    ending = Some((Cause::Idle, at));
                    Pin::new(&mut *connection).graceful_shutdown();
                    at
                }
                Err(Cause::Idle) => now + tick,
                Err(cause) => return Poll::Ready(cause),
            };
            alarm.set(ending.as_ref().map_or(due, |(_, at)| due.min(*at)));
        }
    })
    .await
}

async fn respond<F: Future<Output = Response<Body>>>(
    request: Request<Incoming>,
    since: Instant,
    watch: &Mutex<Option<HandshakeWatch>>,
    options: &ServerOptions,
    service: &impl Fn(Request<Body>) -> F,
    upgrades: &Upgrades,
) -> Response<Body> {
    let asked = asked(&request, options);
    let answer = judge_and_answer(request, &asked, since, watch, options, service).await;
    upgrades.settle(&asked, answer, options)
}

async fn judge_and_answer<F: Future<Output = Response<Body>>>(
    request: Request<Incoming>,
    asked: &Asked,
    since: Instant,
    watch: &Mutex<Option<HandshakeWatch>>,
    options: &ServerOptions,
    service: &impl Fn(Request<Body>) -> F,
) -> Response<Body> {
    let whole = Arc::new(AtomicBool::new(http_body::Body::is_end_stream(request.body())));
    let mut request = request.map(|body| Body::http1(body, options.body, Some(whole.clone())));
    let admission = {
        let mut watch = watch.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        admit(&mut request, asked, &mut watch, options)
    };
    let early = match admission {
        Admission::Serve => None,
        Admission::ServeAfter(early) => Some(early),
        Admission::Refuse(refusal) => return refuse(refusal, options, &whole),
    };
    let answer = async {
        if let Some(early) = early
            && early.completed().await.is_err()
        {
            return (options.refusal)(Refusal::TooEarly);
        }
        service(request).await
    };
    match Deadline::at(after(since, options.request_time)).limit(answer).await {
        Ok(response) => response,
        Err(_) if whole.load(Ordering::Relaxed) => refuse(Refusal::Unanswered, options, &whole),
        Err(_) => refuse(Refusal::Slow, options, &whole),
    }
}

/// Refuses a request; ends the connection if that is incomplete, since its rest would read as another request.
fn refuse(refusal: Refusal, options: &ServerOptions, whole: &AtomicBool) -> Response<Body> {
    let mut response = (options.refusal)(refusal);
    if !whole.load(Ordering::Relaxed) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Answers a request that was too slow, then lets any client keep sending for a while: data arriving at a closed socket
/// resets the connection, which loses the last answer (RFC 9112 §9.6).
async fn say_goodbye<IO: AsyncRead + AsyncWrite + Unpin>(io: &mut IO, cause: &Cause) {
    const SLOW: &[u8] =
        b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    match cause {
        Cause::SlowExchange | Cause::Stalled | Cause::Io(_) => return,
        _ => {}
    }
    let goodbye = async {
        if matches!(cause, Cause::SlowHead) {
            io.write_all(SLOW).await?;
        }
        io.shutdown().await?;
        let mut rest = [0; 4096];
        while io.read(&mut rest).await? > 0 {}
        std::io::Result::Ok(())
    };
    // The connection ends in any case.
    let _ = Deadline::after(LINGER).limit(goodbye).await;
}
