//! Serves an HTTP/2 connection by h2: requests are answered on its task.

mod credit;
mod exchange;
mod head;
mod life;
mod tunnel;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::Either;
use futures_util::stream::{FuturesUnordered, StreamExt};
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{Request, Response};
use tessera_tokio::HandshakeWatch;
use tessera_tokio::http::EarlyRequest;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use self::credit::Credit;
use self::exchange::{AnswerFailure, BodySender, PendingAnswer, Responder, SendOutcome};
use self::head::DateField;
use self::life::Life;
use self::tunnel::Tunnel;
use super::admit::{Admission, admit, length};
use super::held_value::HeldValue;
use super::upgrade::{Asked, OtherSide, asked, other_side};
use super::{Cause, ConnectionSummary, Io, Refusal, ServerOptions};
use crate::http::body::Body;
use crate::http::deadline::Deadline;

/// How much of an answer h2 buffers while the socket is blocked.
const SEND_BUFFER: usize = 64 * 1024;

pub(super) async fn serve<IO, S, F>(
    io: Io<IO>,
    watch: Option<HandshakeWatch>,
    options: Arc<ServerOptions>,
    service: S,
    mut drain: Pin<&mut impl Future<Output = ()>>,
) -> ConnectionSummary
where
    IO: AsyncRead + AsyncWrite + Unpin,
    S: Fn(Request<Body>) -> F,
    F: Future<Output = Response<Body>>,
{
    let begun = tokio::select! {
        biased;
        // First, so that a request already received in a first flight is answered even during shutdown. Boxed only
        // while it lasts: an idle connection needs no room for it.
        begun = Box::pin(begin(io, &options)) => begun,
        () = &mut drain => return ConnectionSummary { requests: 0, cause: Cause::Drained { cut: 0 } },
    };
    let h2 = match begun {
        Ok(h2) => h2,
        Err(cause) => return ConnectionSummary { requests: 0, cause },
    };
    let (service, options) = (&service, &*options);
    // Boxed: `FuturesUnordered` reserves room for one even if it is empty.
    let begin = |request, early: Option<EarlyRequest>| match early {
        None => Either::Left(Box::pin(service(request))),
        Some(early) => Either::Right(Box::pin(async move {
            match early.completed().await {
                Ok(()) => service(request).await,
                Err(_) => (options.refusal)(Refusal::TooEarly),
            }
        })),
    };
    let mut connection = Connection::new(h2, watch, options, begin);
    let cause = std::future::poll_fn(|cx| connection.poll(cx, drain.as_mut())).await;
    ConnectionSummary { requests: connection.requests, cause }
}

/// Boxed: the futures that wait for it and own it have no room for it each.
async fn begin<IO: AsyncRead + AsyncWrite + Unpin>(
    io: Io<IO>,
    options: &ServerOptions,
) -> Result<Box<h2::server::Connection<Io<IO>, Bytes>>, Cause> {
    match Deadline::after(options.head_time).limit(builder(options).handshake(io)).await {
        Ok(Ok(h2)) => Ok(Box::new(h2)),
        Ok(Err(error)) => Err(Cause::of(&error)),
        Err(_) => Err(Cause::SlowHead),
    }
}

fn builder(options: &ServerOptions) -> h2::server::Builder {
    let mut builder = h2::server::Builder::new();
    builder
        .max_concurrent_streams(options.streams)
        .max_header_list_size(options.head_bytes)
        .initial_window_size(options.stream_window.min(MAX_WINDOW))
        .initial_connection_window_size(options.connection_window.min(MAX_WINDOW))
        .max_send_buffer_size(SEND_BUFFER)
        // Allow all open requests to be cancelled in one read.
        .max_pending_accept_reset_streams((options.streams as usize).max(20));
    if options.upgrades.is_some() {
        builder.enable_connect_protocol();
    }
    builder
}

/// RFC 9113 §6.9.1.
const MAX_WINDOW: u32 = (1 << 31) - 1;

struct Connection<'a, IO, B, G> {
    h2: Box<h2::server::Connection<Io<IO>, Bytes>>,
    watch: Option<HandshakeWatch>,
    options: &'a ServerOptions,
    /// Creates the future that answers a request.
    begin: B,
    handling: FuturesUnordered<PendingAnswer<G>>,
    /// Bodies that follow; most answers are sent at once.
    sending: Option<Box<FuturesUnordered<BodySender>>>,
    /// Streams that were upgraded; most connections have none, and need no room for them.
    tunnels: Option<Box<FuturesUnordered<Tunnel>>>,
    life: Life,
    credit: Credit,
    date: DateField,
    requests: u64,
}

impl<'a, IO, B, G> Connection<'a, IO, B, G>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    B: Fn(Request<Body>, Option<EarlyRequest>) -> G,
    G: Future<Output = Response<Body>>,
{
    fn new(
        mut h2: Box<h2::server::Connection<Io<IO>, Bytes>>,
        watch: Option<HandshakeWatch>,
        options: &'a ServerOptions,
        begin: B,
    ) -> Self {
        let life = Life::new(h2.ping_pong(), options);
        Self {
            h2,
            watch,
            options,
            begin,
            handling: FuturesUnordered::new(),
            sending: None,
            tunnels: None,
            life,
            credit: Credit::new(options.streams),
            date: DateField::default(),
            requests: 0,
        }
    }

    /// Activity of answers in h2 wakes this task; the next poll sends everything that became ready at once.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        drain: Pin<&mut impl Future<Output = ()>>,
    ) -> Poll<Cause> {
        if self.life.may_drain() && drain.poll(cx).is_ready() {
            self.life.end(Cause::Drained { cut: 0 }, self.options.drain_time);
            self.h2.graceful_shutdown();
        }
        loop {
            if let Poll::Ready(cause) = self.poll_requests(cx) {
                return Poll::Ready(cause);
            }
            // Last: requests may have moved the timer.
            if self.life.poll(cx).is_pending() {
                return Poll::Pending;
            }
            if let Some(cause) = self.look_around() {
                return Poll::Ready(cause);
            }
        }
    }

    fn poll_requests(&mut self, cx: &mut Context<'_>) -> Poll<Cause> {
        let mut now = None;
        loop {
            match self.h2.poll_accept(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => {
                    return Poll::Ready(self.life.cause().unwrap_or(Cause::Closed));
                }
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(self.life.cause().unwrap_or_else(|| Cause::of(&error)));
                }
                Poll::Ready(Some(Ok((request, respond)))) => {
                    let now = *now.get_or_insert_with(Instant::now);
                    self.accept(request, respond, now);
                }
            }
        }
        while let Poll::Ready(Some(handled)) = self.handling.poll_next_unpin(cx) {
            if let Some((asked, handled)) = handled {
                self.handled(asked, handled);
            }
        }
        while let Some(sending) = &mut self.sending {
            match sending.poll_next_unpin(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => self.sending = None,
                Poll::Ready(Some(sent)) => self.sent(&sent),
            }
        }
        self.poll_tunnels(cx);
        Poll::Pending
    }

    /// Runs at each tick, and when something is due.
    fn look_around(&mut self) -> Option<Cause> {
        let now = Instant::now();
        let options = self.options;
        for handling in Pin::new(&mut self.handling).iter_pin_mut() {
            handling.sweep(now, options.request_time);
        }
        for sending in self.sending.iter_mut().flat_map(|sending| sending.iter_mut()) {
            sending.sweep(now, options.stall_time, options.exchange_time);
        }
        let sending = self.sending.as_ref().map_or(0, |sending| sending.len());
        let under_way = self.handling.len() + sending;
        let tunnels = self.tunnels.as_ref().map_or(0, |tunnels| tunnels.len());
        match self.life.look_around(now, under_way, tunnels, options) {
            life::Next::Live => None,
            life::Next::Leave => {
                self.h2.graceful_shutdown();
                None
            }
            life::Next::Over(cause) => Some(cause),
        }
    }

    fn accept(&mut self, request: Request<RecvStream>, respond: SendResponse<Bytes>, now: Instant) {
        self.requests += 1;
        self.life.request(now);
        let wanted = asked(&request, self.options);
        let (parts, stream) = request.into_parts();
        let is_upgrade = matches!(wanted, Asked::Protocol(_));
        let whole =
            (!is_upgrade && !stream.is_end_stream()).then(|| Arc::new(AtomicBool::new(false)));
        let (body, upgrade) = match &whole {
            None => (Body::empty(), is_upgrade.then_some(stream)),
            Some(whole) => {
                let (length, limits) = (length(&parts.headers), self.options.body);
                (Body::http2(stream, length, limits, Some(whole.clone())), None)
            }
        };
        let asked = Responder { respond, method: parts.method.clone(), since: now, whole, upgrade };
        let mut request = Request::from_parts(parts, body);
        let early = match admit(&mut request, &wanted, &mut self.watch, self.options) {
            Admission::Serve => None,
            Admission::ServeAfter(early) => Some(early),
            Admission::Refuse(refusal) => return self.refuse(asked, refusal),
        };
        self.handling.push(PendingAnswer::new(asked, (self.begin)(request, early)));
    }

    fn refuse(&mut self, asked: Responder, refusal: Refusal) {
        self.answer(asked, (self.options.refusal)(refusal));
    }

    fn handled(&mut self, asked: Responder, handled: Result<Response<Body>, AnswerFailure>) {
        match handled {
            Ok(response) => self.answer(asked, response),
            Err(AnswerFailure::Late) if asked.is_whole() => self.refuse(asked, Refusal::Unanswered),
            Err(AnswerFailure::Late) => self.refuse(asked, Refusal::Slow),
            Err(AnswerFailure::TakenBack) => self.taken_back(),
        }
    }

    /// Sends an answer's head, and as much of its body as is available and fits the window.
    fn answer(&mut self, mut asked: Responder, mut response: Response<Body>) {
        if let Some(receive) = asked.upgrade.take()
            && let Some(other) = other_side(&mut response)
        {
            return self.upgrade(asked, response, receive, other);
        }
        let kept = response.extensions_mut().remove::<HeldValue>();
        let (head, body) =
            head::prepare(response, &asked.method, self.options.date.then_some(&mut self.date));
        let Ok(stream) = asked.respond.send_response(head, body.is_none()) else {
            return self.taken_back();
        };
        let Some(body) = body else { return self.credit.finished() };
        let mut sending = BodySender::new(stream, body, asked.since, kept);
        // Most bodies are complete and need no place among the futures. The others are polled there next.
        match Pin::new(&mut sending).poll(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(sent) => self.sent(&sent),
            Poll::Pending => self.sending.get_or_insert_default().push(sending),
        }
    }

    /// Accepts an upgrade, unless the server shuts down.
    fn upgrade(
        &mut self,
        mut asked: Responder,
        mut response: Response<Body>,
        receive: RecvStream,
        other: OtherSide,
    ) {
        if !self.life.may_drain() {
            return self.refuse(asked, Refusal::Draining);
        }
        let held = response.extensions_mut().remove::<HeldValue>();
        let (head, _) =
            head::prepare(response, &asked.method, self.options.date.then_some(&mut self.date));
        let Ok(send) = asked.respond.send_response(head, false) else { return self.taken_back() };
        let tunnel = Tunnel::new((receive, send), other, held, self.options);
        self.tunnels.get_or_insert_default().push(tunnel);
    }

    fn poll_tunnels(&mut self, cx: &mut Context<'_>) {
        while let Some(tunnels) = &mut self.tunnels
            && let Poll::Ready(Some(ended)) = tunnels.poll_next_unpin(cx)
        {
            self.sent(&ended);
            self.life.tunnel_ended(Instant::now());
        }
    }

    fn sent(&mut self, sent: &SendOutcome) {
        match sent {
            SendOutcome::Whole => self.credit.finished(),
            SendOutcome::TakenBack => self.taken_back(),
            SendOutcome::Cut => {}
        }
    }

    fn taken_back(&mut self) {
        if self.credit.taken_back(Instant::now()) && !self.life.is_over() {
            self.life.end(Cause::RapidReset, life::LAST_WORDS);
            self.h2.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
        }
    }
}
