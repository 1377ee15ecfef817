//! The secret discovery service: one stream with requests and responses for each Envoy.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use envoy_types::pb::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use envoy_types::pb::envoy::service::secret::v3::secret_discovery_service_server::SecretDiscoveryService;
use futures_core::Stream;
use prost::Name;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tonic::{Request, Response, Status, Streaming};

use super::secret::{Snapshot, response};
use super::subscriptions::{Answer, Subscription, Subscriptions};

/// Serves one secret.
pub(super) struct Service {
    pub(super) secret: String,
    pub(super) snapshots: watch::Receiver<Snapshot>,
    pub(super) subscriptions: Arc<Subscriptions>,
}

/// The responses on a stream.
pub(super) struct Responses<T>(mpsc::Receiver<Result<T, Status>>);

/// The clients of a listener.
pub(super) struct Clients(pub(super) UnixListener);

#[tonic::async_trait]
impl SecretDiscoveryService for Service {
    type StreamSecretsStream = Responses<DiscoveryResponse>;
    type DeltaSecretsStream = Responses<DeltaDiscoveryResponse>;

    async fn stream_secrets(
        &self,
        requests: Request<Streaming<DiscoveryRequest>>,
    ) -> Result<Response<Self::StreamSecretsStream>, Status> {
        let (responses, received) = mpsc::channel(1);
        let stream = SecretStream {
            secret: self.secret.clone(),
            snapshots: self.snapshots.clone(),
            subscriptions: self.subscriptions.clone(),
            node: None,
            subscription: None,
            sent: None,
        };
        tokio::spawn(async move {
            let end = stream.serve(requests.into_inner(), &responses).await;
            if let Err(status) = end {
                let _ = responses.send(Err(status)).await;
            }
        });
        Ok(Response::new(Responses(received)))
    }

    async fn delta_secrets(
        &self,
        _: Request<Streaming<DeltaDiscoveryRequest>>,
    ) -> Result<Response<Self::DeltaSecretsStream>, Status> {
        Err(unimplemented())
    }

    async fn fetch_secrets(
        &self,
        _: Request<DiscoveryRequest>,
    ) -> Result<Response<DiscoveryResponse>, Status> {
        Err(unimplemented())
    }
}

fn unimplemented() -> Status {
    Status::unimplemented("ticket keys are sent as the state of the world alone: `api_type: GRPC`")
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
        mut requests: Streaming<DiscoveryRequest>,
        responses: &mpsc::Sender<Result<DiscoveryResponse, Status>>,
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
                // It fails if the client is gone, which the next request shows.
                let _ = responses.send(Ok(response(version, &secret))).await;
            }
        }
    }

    fn read(&mut self, request: &DiscoveryRequest) -> Result<(), Status> {
        if !request.type_url.is_empty() && request.type_url != Secret::type_url() {
            return Err(Status::invalid_argument(format!(
                "this service has {} only",
                Secret::NAME
            )));
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

impl<T> Stream for Responses<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

impl Stream for Clients {
    type Item = io::Result<UnixStream>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let accepted = ready!(self.0.poll_accept(context));
        Poll::Ready(Some(accepted.map(|(stream, _)| stream)))
    }
}
