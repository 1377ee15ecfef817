//! A client that behaves as Envoy does.

use std::path::Path;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::servers::envoy::grpc::{Requests, ResponseSender, Responses, responses};
use crate::servers::envoy::messages::{
    DiscoveryRequest, DiscoveryResponse, Node, SECRET, Secret, Status,
};

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
        let (requests, body) = responses();
        let request = DiscoveryRequest {
            node: Some(Node { id: node.into() }),
            resource_names: vec![secret.into()],
            type_url: SECRET.into(),
            ..DiscoveryRequest::default()
        };
        requests.send(&request.encode_to_vec()).await;
        let (response, connection) = call(socket, "StreamSecrets", body).await;
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

/// Calls a method that the service doesn't have, and returns the head of its answer.
pub(super) async fn refused_path(socket: &Path) -> HeaderMap {
    let (requests, body) = responses();
    drop(requests);
    call(socket, "FetchSecrets", body).await.0.headers().clone()
}

async fn call(
    socket: &Path,
    method: &str,
    body: Responses,
) -> (Response<Incoming>, SendRequest<Responses>) {
    let stream = TokioIo::new(UnixStream::connect(socket).await.unwrap());
    let (mut sender, connection) = handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("{SERVICE}{method}"))
        .header(CONTENT_TYPE, "application/grpc")
        .body(body)
        .unwrap();
    let response = timeout(SOON, sender.send_request(request)).await.unwrap().unwrap();
    assert_eq!(response.headers()[CONTENT_TYPE], "application/grpc");
    (response, sender)
}
