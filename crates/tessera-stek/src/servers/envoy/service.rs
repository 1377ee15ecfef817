//! The secret discovery service: one stream with requests and responses for each Envoy.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use super::grpc::{
    Code, Requests, ResponseSender, Responses, Status, response, responses, unsupported,
};
use super::messages::{DiscoveryRequest, SECRET};
use super::secret::{self, Snapshot};
use super::subscriptions::{Answer, Subscription, Subscriptions};

/// Serves one secret.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) secret: String,
    /// Its end is that of the service.
    pub(super) snapshots: watch::Receiver<Snapshot>,
    pub(super) subscriptions: Arc<Subscriptions>,
}

/// The one method that Envoy's `api_type: GRPC` calls.
const STREAM: &str = "/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets";

/// How often to check that an Envoy is still there, and how long it may take to answer.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The most streams of a connection: an Envoy has one for each secret and cluster.
const STREAMS: u32 = 128;

/// How long to wait after a failure to accept: too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

impl Service {
    /// Serves all clients of a listener, until the service ends.
    pub(super) async fn serve(self, listener: UnixListener) {
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((client, _)) => drop(tokio::spawn(self.clone().connection(client))),
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
        let answer = |request| {
            let response = self.answer(request);
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
            secret: self.secret.clone(),
            snapshots: self.snapshots.clone(),
            subscriptions: self.subscriptions.clone(),
            node: None,
            subscription: None,
            sent: None,
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
    secret: String,
    snapshots: watch::Receiver<Snapshot>,
    subscriptions: Arc<Subscriptions>,
    /// The first request names it.
    node: Option<String>,
    /// While it asks for the secret.
    subscription: Option<Subscription>,
    /// The version sent last.
    sent: Option<u64>,
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
                changed = self.snapshots.changed() => if changed.is_err() {
                    return Ok(());
                },
            }
            let Snapshot { version, secret: Some(secret) } =
                self.snapshots.borrow_and_update().clone()
            else {
                continue;
            };
            if self.subscription.is_some() && self.sent != Some(version) {
                self.sent = Some(version);
                // A client that is gone shows in the next request.
                responses.send(&secret::response(version, &secret)).await;
            }
        }
    }

    fn read(&mut self, request: &DiscoveryRequest) -> Result<(), Status> {
        if !request.type_url.is_empty() && request.type_url != SECRET {
            let what = format!("this service has {SECRET} only");
            return Err(Status::new(Code::InvalidArgument, what));
        }
        let node = self.node.get_or_insert_with(|| {
            let id = request.node.as_ref().map(|node| node.id.clone()).unwrap_or_default();
            if id.is_empty() { "without an id".into() } else { id }
        });
        if !request.resource_names.contains(&self.secret) {
            tracing::warn!(
                "Envoy `{node}` asks for the secrets {:?}; this socket has `{}` only",
                request.resource_names,
                self.secret
            );
            (self.subscription, self.sent) = (None, None);
            return Ok(());
        }
        let subscription = self.subscription.get_or_insert_with(|| self.subscriptions.add(node));
        // A nonce of an earlier response answers nothing any more.
        if let Some(version) = self.sent.filter(|sent| request.response_nonce == sent.to_string()) {
            let refusal = request.error_detail.as_ref().map(|status| status.message.clone());
            if let Some(reason) = &refusal {
                tracing::warn!("Envoy `{node}` refused the ticket keys: {reason}");
            }
            subscription.answers(Answer { version, refusal });
        }
        Ok(())
    }
}
