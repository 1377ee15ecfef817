//! The secret discovery service: one stream with requests and responses for each Envoy.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::messages::{DiscoveryRequest, SECRET};
use super::secret::{self, EncodedSecret, Snapshot};
use super::subscriptions::{Answer, Subscription, Subscriptions};
use tessera_proxy::grpc::{
    Code, Requests, ResponseSender, Responses, Status, response, responses, unsupported,
};

/// Serves one secret.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) secret: String,
    /// A random key, for an Envoy that has none while the ring is unknown: it doesn't listen without one.
    pub(super) stand_in: Arc<EncodedSecret>,
    /// Its end is that of the service.
    pub(super) snapshots: watch::Receiver<Snapshot>,
    pub(super) subscriptions: Arc<Subscriptions>,
}

/// The one method that Envoy's `api_type: GRPC` calls.
const STREAM: &str = "/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets";

/// How often to check that an Envoy is still there, and how long it may take to answer.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The most streams of a connection: an Envoy has one for each secret.
const STREAMS: u32 = 4;

/// The most connections: more Envoys than a host has.
const CONNECTIONS: usize = 32;

/// How long a connection may have no stream.
const FIRST_STREAM: Duration = Duration::from_secs(10);

/// How long an Envoy without keys waits for those of the ring.
const STAND_IN_AFTER: Duration = Duration::from_secs(3);

/// The version of the stand-in; those of the ring's keys are greater.
const STAND_IN: u64 = 0;

/// The most characters of a text of Envoy's that are kept.
const MOST_SHOWN: usize = 200;

/// How long to wait after a failure to accept: too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

impl Service {
    /// Serves all clients of a listener, until the service ends.
    pub(super) async fn serve(self, listener: UnixListener) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((client, _)) => match room.clone().try_acquire_owned() {
                        Ok(permit) => {
                            let connection = self.clone().connection(client);
                            tokio::spawn(async move {
                                connection.await;
                                drop(permit);
                            });
                        }
                        Err(_) => tracing::warn!(
                            "{CONNECTIONS} clients are connected for Envoy's ticket keys: another one is refused"
                        ),
                    },
                    Err(error) => {
                        tracing::warn!("Envoy can't connect for its ticket keys: {error}");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                () = self.ended() => return,
            }
        }
    }

    async fn connection(self, client: UnixStream) {
        let (has_stream, mut first_stream) = watch::channel(false);
        let answer = |request| {
            let response = self.answer(request);
            has_stream.send_replace(true);
            async { Ok::<_, Infallible>(response) }
        };
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .max_concurrent_streams(STREAMS)
            .serve_connection(TokioIo::new(client), service_fn(answer));
        let mut connection = std::pin::pin!(connection);
        let served = tokio::select! {
            served = &mut connection => served,
            () = async {
                if timeout(FIRST_STREAM, first_stream.wait_for(|has| *has)).await.is_ok() {
                    pending::<()>().await;
                }
            } => return tracing::debug!("a client for Envoy's ticket keys asked for nothing"),
            () = self.ended() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!("the connection of an Envoy failed: {error}");
        }
    }

    /// Waits for the end of the service.
    async fn ended(&self) {
        let mut snapshots = self.snapshots.clone();
        while snapshots.changed().await.is_ok() {}
    }

    fn answer(&self, request: Request<Incoming>) -> Response<Responses> {
        let kind = request.headers().get(CONTENT_TYPE).map_or(&b""[..], |it| it.as_bytes());
        if request.method() != Method::POST || !kind.starts_with(b"application/grpc") {
            return unsupported();
        }
        if request.uri().path() != STREAM {
            let what = "ticket keys are sent as the state of the world alone: `api_type: GRPC`";
            return Status::new(Code::Unimplemented, what).into_response();
        }
        let (sender, body) = responses();
        let stream = SecretStream {
            service: self.clone(),
            began: Instant::now(),
            has_keys: false,
            node: None,
            subscription: None,
            sent: None,
            refused: None,
        };
        tokio::spawn(async move {
            let end = stream.serve(Requests::new(request.into_body()), &sender).await;
            sender.end(end.err().unwrap_or(Status::new(Code::Ok, ""))).await;
        });
        response(body)
    }
}

/// One stream.
struct SecretStream {
    service: Service,
    began: Instant,
    /// Whether its Envoy accepted keys before: it goes on with those.
    has_keys: bool,
    /// The first request names it.
    node: Option<String>,
    /// While it asks for the secret.
    subscription: Option<Subscription>,
    /// The version sent last.
    sent: Option<u64>,
    /// The version refused last.
    refused: Option<u64>,
}

/// Returns a text of a client as it may be shown.
fn shown(text: &str) -> String {
    text.chars().take(MOST_SHOWN).flat_map(char::escape_debug).collect()
}

impl SecretStream {
    /// Serves it until its client or the installer is gone.
    async fn serve(
        mut self,
        mut requests: Requests,
        responses: &ResponseSender,
    ) -> Result<(), Status> {
        loop {
            tokio::select! {
                request = requests.message() => match request? {
                    Some(request) => self.read(&request)?,
                    None => return Ok(()),
                },
                changed = self.service.snapshots.changed() => if changed.is_err() {
                    return Ok(());
                },
                () = sleep_until(self.began + STAND_IN_AFTER), if self.lacks_keys() => (),
            }
            let snapshot = self.service.snapshots.borrow_and_update().clone();
            let (version, secret) = match snapshot {
                Snapshot { version, secret: Some(secret) } => (version, secret),
                _ if self.lacks_keys() && self.began.elapsed() >= STAND_IN_AFTER => {
                    (STAND_IN, self.service.stand_in.clone())
                }
                _ => continue,
            };
            if self.subscription.is_some() && self.sent != Some(version) {
                self.sent = Some(version);
                // A client that is gone shows in the next request.
                responses.send(&secret::response(version, &secret)).await;
            }
        }
    }

    /// Whether its Envoy has no keys at all.
    fn lacks_keys(&self) -> bool {
        self.subscription.is_some() && self.sent.is_none() && !self.has_keys
    }

    fn read(&mut self, request: &DiscoveryRequest) -> Result<(), Status> {
        if !request.type_url.is_empty() && request.type_url != SECRET {
            let what = format!("this service has {SECRET} only");
            return Err(Status::new(Code::InvalidArgument, what));
        }
        self.has_keys |= !request.version_info.is_empty();
        let node = self.node.get_or_insert_with(|| {
            let id = request.node.as_ref().map(|node| shown(&node.id)).unwrap_or_default();
            if id.is_empty() { "without an id".into() } else { id }
        });
        if !request.resource_names.contains(&self.service.secret) {
            tracing::warn!(
                "Envoy `{node}` asks for the secrets {:?}; this socket has `{}` only",
                request.resource_names.iter().take(3).map(|name| shown(name)).collect::<Vec<_>>(),
                self.service.secret
            );
            (self.subscription, self.sent) = (None, None);
            return Ok(());
        }
        let subscription =
            self.subscription.get_or_insert_with(|| self.service.subscriptions.add(node));
        // A nonce of an earlier response answers nothing any more.
        if let Some(version) = self.sent.filter(|sent| request.response_nonce == sent.to_string()) {
            let refusal = request.error_detail.as_ref().map(|status| shown(&status.message));
            // Once: a client may repeat it as often as it likes.
            if let Some(reason) = refusal.as_ref().filter(|_| self.refused != Some(version)) {
                tracing::warn!("Envoy `{node}` refused the ticket keys: {reason}");
                self.refused = Some(version);
            }
            subscription.answers(Answer { version, refusal });
        }
        Ok(())
    }
}
