//! A client that behaves as Envoy does.

use std::path::Path;
use std::time::Duration;

use envoy_types::pb::envoy::config::core::v3::Node;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse};
use envoy_types::pb::envoy::service::secret::v3::secret_discovery_service_client::SecretDiscoveryServiceClient;
use envoy_types::pb::google::rpc;
use prost::{Message, Name};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

/// A stream of an Envoy, which leaves when it is dropped.
pub(crate) struct EnvoyClient {
    requests: mpsc::Sender<DiscoveryRequest>,
    responses: Streaming<DiscoveryResponse>,
    /// What it has accepted last.
    version: String,
}

/// The keys of a response.
pub(crate) struct SentKeys {
    pub(crate) keys: Vec<Vec<u8>>,
    nonce: String,
    version: String,
}

/// What arrives at all arrives within this time.
const SOON: Duration = Duration::from_secs(10);

impl EnvoyClient {
    /// Connects, and asks for the secret.
    pub(crate) async fn connect(socket: &Path, node: &str, secret: &str) -> Self {
        Self::connect_with(socket, node, secret, "").await
    }

    /// Connects again, with the version that it had.
    pub(crate) async fn connect_with(
        socket: &Path,
        node: &str,
        secret: &str,
        version: &str,
    ) -> Self {
        let (requests, receiver) = mpsc::channel(4);
        let node = Node { id: node.into(), ..Node::default() };
        let request = DiscoveryRequest {
            version_info: version.into(),
            node: Some(node),
            resource_names: vec![secret.into()],
            type_url: Secret::type_url(),
            ..DiscoveryRequest::default()
        };
        requests.send(request).await.unwrap();
        let mut client = client(socket).await;
        let responses = client.stream_secrets(ReceiverStream::new(receiver)).await.unwrap();
        Self { requests, responses: responses.into_inner(), version: version.into() }
    }

    /// Waits for keys.
    pub(crate) async fn receive(&mut self) -> SentKeys {
        let response = timeout(SOON, self.responses.message()).await.unwrap().unwrap().unwrap();
        assert_eq!(response.type_url, Secret::type_url());
        assert_eq!(response.resources.len(), 1);
        let secret = Secret::decode(&*response.resources[0].value).unwrap();
        assert_eq!(secret.name, "stek");
        let Some(Type::SessionTicketKeys(keys)) = secret.r#type else { panic!("another secret") };
        let bytes = |specifier| match specifier {
            Some(Specifier::InlineBytes(bytes)) => bytes,
            other => panic!("{other:?}"),
        };
        let keys = keys.keys.into_iter().map(|source| bytes(source.specifier)).collect();
        SentKeys { keys, nonce: response.nonce, version: response.version_info }
    }

    /// Whether no keys come for a while.
    pub(crate) async fn receives_nothing(&mut self) -> bool {
        timeout(Duration::from_millis(200), self.responses.message()).await.is_err()
    }

    /// Waits for the end of the stream.
    pub(crate) async fn ends(&mut self) -> Result<(), Status> {
        assert!(timeout(SOON, self.responses.message()).await.unwrap()?.is_none());
        Ok(())
    }

    pub(crate) async fn accept(&mut self, sent: &SentKeys) {
        self.version = sent.version.clone();
        self.answer(sent, None).await;
    }

    pub(crate) async fn refuse(&mut self, sent: &SentKeys, reason: &str) {
        let status = rpc::Status { code: 13, message: reason.into(), details: Vec::new() };
        self.answer(sent, Some(status)).await;
    }

    async fn answer(&self, sent: &SentKeys, error_detail: Option<rpc::Status>) {
        let request = DiscoveryRequest {
            version_info: self.version.clone(),
            resource_names: vec!["stek".into()],
            type_url: Secret::type_url(),
            response_nonce: sent.nonce.clone(),
            error_detail,
            ..DiscoveryRequest::default()
        };
        self.requests.send(request).await.unwrap();
    }
}

/// Connects to the service.
pub(crate) async fn client(socket: &Path) -> SecretDiscoveryServiceClient<Channel> {
    let endpoint = Endpoint::try_from(format!("unix:{}", socket.display())).unwrap();
    SecretDiscoveryServiceClient::new(endpoint.connect().await.unwrap())
}
