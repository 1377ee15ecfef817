//! The service: one message each way for a request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message as _;
use tessera_proxy::grpc::{Code, Requests, Responses, Status, response, responses, unsupported};
use tessera_proxy::logging::tracing;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::check;
use super::messages::CheckRequest;
use crate::edge::Edge;

/// Answers the Envoys of a host.
#[derive(Clone)]
pub(crate) struct AuthorizationService {
    pub(crate) edge: Arc<Edge>,
    pub(crate) ending: watch::Sender<bool>,
}

/// The one method.
const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";

/// The most connections: an Envoy has one for each of its threads.
const CONNECTIONS: usize = 256;

/// The most requests of a connection at a time.
const STREAMS: u32 = 1024;

/// How often to check that an Envoy is still there, and how long it may take to answer.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// How long a message may take.
const MESSAGE: Duration = Duration::from_secs(5);

/// How long to wait after a failure to accept: too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

impl AuthorizationService {
    /// Serves until the process ends.
    pub(crate) async fn serve(self, listener: UnixListener) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut ending = self.ending.subscribe();
        let ended = async move { drop(ending.wait_for(|ending| *ending).await) };
        let mut ended = std::pin::pin!(ended);
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
                        Err(_) => tracing::warn!("{CONNECTIONS} connections of Envoy are open: another one is refused"),
                    },
                    Err(error) => {
                        tracing::warn!("Envoy can't connect: {error}");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                () = &mut ended => break,
            }
        }
        // Those questions are answered that have begun.
        let _ = timeout(MESSAGE, room.acquire_many(CONNECTIONS as u32)).await;
    }

    async fn connection(self, client: UnixStream) {
        let answer = |request| {
            let service = self.clone();
            async move { Ok::<_, Infallible>(service.answer(request).await) }
        };
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .max_concurrent_streams(STREAMS)
            .serve_connection(TokioIo::new(client), service_fn(answer));
        let mut connection = std::pin::pin!(connection);
        let mut ending = self.ending.subscribe();
        let served = tokio::select! {
            served = &mut connection => served,
            () = async { drop(ending.wait_for(|ending| *ending).await) } => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!("the connection of an Envoy failed: {error}");
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Responses> {
        let kind = request.headers().get(CONTENT_TYPE).map_or(&b""[..], |it| it.as_bytes());
        if request.method() != Method::POST || !kind.starts_with(b"application/grpc") {
            return unsupported();
        }
        if request.uri().path() != CHECK {
            return Status::new(Code::Unimplemented, "this socket has Envoy's ext_authz alone")
                .into_response();
        }
        let mut requests = Requests::new(request.into_body());
        let message = match timeout(MESSAGE, requests.message::<CheckRequest>()).await {
            Ok(Ok(Some(message))) => message,
            Ok(Ok(None)) | Err(_) => {
                return Status::new(Code::InvalidArgument, "there is no message").into_response();
            }
            Ok(Err(status)) => return status.into_response(),
        };
        let checked = check(&self.edge, message).await.encode_to_vec();
        let (sender, body) = responses();
        tokio::spawn(async move {
            sender.send(&checked).await;
            sender.end(Status::new(Code::Ok, "")).await;
        });
        response(body)
    }
}
