//! A client that behaves as Envoy does.

use std::path::Path;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::servers::envoy::messages::{
    DiscoveryRequest, DiscoveryResponse, Node, SECRET, Secret, Status,
};
use tessera_proxy::grpc::{Requests, ResponseSender, Responses, responses};

/// A stream of an Envoy, which leaves when it is dropped.
pub(super) struct EnvoyClient {
    requests: ResponseSender,
    responses: Requests,
    _connection: SendRequest<Responses>,
}

/// The keys of a response.
pub(super) struct SentKeys {
    pub(super) keys: Vec<Vec<u8>>,
    nonce: String,
}

/// What arrives at all arrives within this time.
const SOON: Duration = Duration::from_secs(10);

const SERVICE: &str = "http://sds/envoy.service.secret.v3.SecretDiscoveryService/";

impl EnvoyClient {
    /// Connects, and asks for the secret.
    pub(super) async fn connect(socket: &Path, node: &str, secret: &str) -> Self {
        Self::connect_for(socket, node, secret, SECRET).await
    }

    /// Connects again, with the keys that it had.
    pub(super) async fn connect_again(socket: &Path, node: &str, secret: &str) -> Self {
        let request = DiscoveryRequest {
            version_info: "7".into(),
            node: Some(Node { id: node.into() }),
            resource_names: vec![secret.into()],
            ..DiscoveryRequest::default()
        };
        Self::begin(socket, request).await
    }

    /// Connects, and asks for a resource of this type.
    pub(super) async fn connect_for(
        socket: &Path,
        node: &str,
        secret: &str,
        type_url: &str,
    ) -> Self {
        let request = DiscoveryRequest {
            node: Some(Node { id: node.into() }),
            resource_names: vec![secret.into()],
            type_url: type_url.into(),
            ..DiscoveryRequest::default()
        };
        Self::begin(socket, request).await
    }

    async fn begin(socket: &Path, request: DiscoveryRequest) -> Self {
        let (requests, body) = responses();
        requests.send(&request.encode_to_vec()).await;
        let (response, connection) = call(socket, "StreamSecrets", "application/grpc", body).await;
        Self { requests, responses: Requests::new(response.into_body()), _connection: connection }
    }

    /// Waits for keys.
    pub(super) async fn receive(&mut self) -> SentKeys {
        let response = timeout(SOON, self.responses.message()).await.unwrap().unwrap();
        let response: DiscoveryResponse = response.unwrap();
        assert_eq!(response.type_url, SECRET);
        assert_eq!(response.resources.len(), 1);
        let secret = Secret::decode(&*response.resources[0].value).unwrap();
        assert_eq!(secret.name, "stek");
        let keys = secret.session_ticket_keys.unwrap().keys;
        SentKeys {
            keys: keys.into_iter().map(|key| key.inline_bytes).collect(),
            nonce: response.nonce,
        }
    }

    /// Whether no keys come for a while.
    pub(super) async fn receives_nothing(&mut self) -> bool {
        let message = self.responses.message::<DiscoveryResponse>();
        timeout(Duration::from_millis(200), message).await.is_err()
    }

    /// Asks for another secret from now on.
    pub(super) async fn ask_for(&mut self, secret: &str) {
        let request = DiscoveryRequest {
            resource_names: vec![secret.into()],
            type_url: SECRET.into(),
            ..DiscoveryRequest::default()
        };
        self.requests.send(&request.encode_to_vec()).await;
        // Read before anything that comes next.
        assert!(self.receives_nothing().await);
    }

    /// Waits for the status that ends the stream.
    pub(super) async fn receives_status(&mut self) -> String {
        let trailers = timeout(SOON, self.responses.trailers()).await.unwrap().unwrap();
        trailers["grpc-status"].to_str().unwrap().to_owned()
    }

    /// Waits for the end of the stream.
    pub(super) async fn ends(&mut self) {
        let message = self.responses.message::<DiscoveryResponse>();
        assert!(matches!(timeout(SOON, message).await.unwrap(), Ok(None)));
    }

    pub(super) async fn accept(&mut self, sent: &SentKeys) {
        self.answer(sent, None).await;
    }

    pub(super) async fn refuse(&mut self, sent: &SentKeys, reason: &str) {
        self.answer(sent, Some(Status { message: reason.into() })).await;
    }

    async fn answer(&self, sent: &SentKeys, error_detail: Option<Status>) {
        let request = DiscoveryRequest {
            resource_names: vec!["stek".into()],
            type_url: SECRET.into(),
            response_nonce: sent.nonce.clone(),
            error_detail,
            ..DiscoveryRequest::default()
        };
        self.requests.send(&request.encode_to_vec()).await;
    }
}

/// Calls a method in a way that the service refuses, and returns the head of its answer.
pub(super) async fn call_wrongly(
    socket: &Path,
    method: &str,
    content_type: &str,
) -> (StatusCode, HeaderMap) {
    let (requests, body) = responses();
    drop(requests);
    let (response, _) = call(socket, method, content_type, body).await;
    (response.status(), response.headers().clone())
}

async fn call(
    socket: &Path,
    method: &str,
    content_type: &str,
    body: Responses,
) -> (Response<Incoming>, SendRequest<Responses>) {
    let stream = TokioIo::new(UnixStream::connect(socket).await.unwrap());
    let (mut sender, connection) = handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("{SERVICE}{method}"))
        .header(CONTENT_TYPE, content_type)
        .body(body)
        .unwrap();
    let response = timeout(SOON, sender.send_request(request)).await.unwrap().unwrap();
    (response, sender)
}
