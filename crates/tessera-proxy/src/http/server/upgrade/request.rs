//! A request to switch protocols, for the service.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use http::header::{CONNECTION, CONTENT_LENGTH, SEC_WEBSOCKET_ACCEPT, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::http::body::Body;
use crate::http::hop_by_hop::remove_hop_by_hop;
use crate::http::upgrade::accept_of;

/// A client's request to go on in another protocol: an extension of the request, which is otherwise a GET in every
/// version of HTTP. A service that leaves it there answers as if the client had not asked.
///
/// ```
/// use http::{Request, Response, StatusCode};
/// use tessera_proxy::http::body::Body;
/// use tessera_proxy::http::client::{Call, Pool, UpgradeOutcome};
/// use tessera_proxy::http::deadline::Deadline;
/// use tessera_proxy::http::server::UpgradeRequest;
///
/// async fn forward(pool: &Pool, mut request: Request<Body>, deadline: Deadline) -> Response<Body> {
///     let answer = match UpgradeRequest::take(&mut request) {
///         None => pool.call(request, Call::until(deadline)).await.map(|answer| answer.response),
///         Some(upgrade) => {
///             let answer = pool.upgrade(request, upgrade.protocol(), deadline).await;
///             answer.map(|answer| match answer.outcome {
///                 UpgradeOutcome::Switched(response, stream) => upgrade.accept(response, stream),
///                 UpgradeOutcome::Refused(response) => response,
///             })
///         }
///     };
///     answer.unwrap_or_else(|_| {
///         let mut response = Response::new(Body::empty());
///         *response.status_mut() = StatusCode::BAD_GATEWAY;
///         response
///     })
/// }
/// ```
#[derive(Clone)]
pub struct UpgradeRequest {
    protocol: Arc<str>,
    is_http2: bool,
    /// What the client's handshake over HTTP/1.1 is answered with, if it is WebSocket's.
    key: Option<HeaderValue>,
}

impl UpgradeRequest {
    pub(super) fn new(protocol: Arc<str>, is_http2: bool, key: Option<HeaderValue>) -> Self {
        Self { protocol, is_http2, key }
    }

    /// Takes it out of a request, if that asks for another protocol.
    pub fn take(request: &mut Request<Body>) -> Option<Self> {
        request.extensions_mut().remove()
    }

    /// Returns the protocol, as [`UpgradeOptions::protocols`](crate::http::server::UpgradeOptions::protocols) has it.
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// Accepts: returns the answer with the other side's fields, after which the connection carries `stream`'s bytes
    /// and the client's, until both directions have ended, one fails, or a limit is reached:
    /// [`UpgradeOptions::idle_time`](crate::http::server::UpgradeOptions::idle_time), and
    /// [`ServerOptions::stall_time`](crate::http::server::ServerOptions::stall_time) for each side that reads nothing.
    /// When the server drains, it is cut after [`drain_time`](crate::http::server::ServerOptions::drain_time).
    pub fn accept<B>(
        self,
        answer: Response<B>,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Response<Body> {
        self.bind(answer, OtherSide { stream: Box::new(stream), end: None })
    }

    /// Accepts, and cuts both sides when `end` is ready.
    pub fn accept_until<B>(
        self,
        answer: Response<B>,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> Response<Body> {
        self.bind(answer, OtherSide { stream: Box::new(stream), end: Some(Box::pin(end)) })
    }

    fn bind<B>(self, answer: Response<B>, other: OtherSide) -> Response<Body> {
        let mut answer = answer.map(|_| Body::empty());
        let headers = answer.headers_mut();
        remove_hop_by_hop(headers);
        // RFC 9110 §8.6, RFC 8441 §5.
        headers.remove(CONTENT_LENGTH);
        headers.remove(SEC_WEBSOCKET_ACCEPT);
        if !self.is_http2 {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            if let Ok(protocol) = HeaderValue::try_from(&*self.protocol) {
                headers.insert(UPGRADE, protocol);
            }
            if let Some(key) = &self.key {
                headers.insert(SEC_WEBSOCKET_ACCEPT, accept_of(key));
            }
        }
        *answer.status_mut() = match self.is_http2 {
            true => StatusCode::OK,
            false => StatusCode::SWITCHING_PROTOCOLS,
        };
        answer.extensions_mut().insert(Bound(Arc::new(Mutex::new(Some(other)))));
        answer
    }
}

impl fmt::Debug for UpgradeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpgradeRequest").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

/// The other side of an upgraded connection.
pub(in crate::http::server) struct OtherSide {
    pub(super) stream: Box<dyn Stream + Send>,
    pub(super) end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

pub(in crate::http::server) trait Stream:
    AsyncRead + AsyncWrite + Unpin
{
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// The other side, as an extension of the answer: these must be clonable.
#[derive(Clone)]
struct Bound(Arc<Mutex<Option<OtherSide>>>);

/// Takes the other side out of an accepting answer.
pub(in crate::http::server) fn other_side(answer: &mut Response<Body>) -> Option<OtherSide> {
    let Bound(other) = answer.extensions_mut().remove()?;
    other.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_fields_of_its_connection_alone() {
        for is_http2 in [false, true] {
            let backend = Response::builder()
                .header("connection", "upgrade, x-hop")
                .header("upgrade", "other")
                .header("x-hop", "1")
                .header("content-length", "0")
                .header("sec-websocket-accept", "other")
                .header("sec-websocket-protocol", "chat");
            let upgrade = UpgradeRequest::new("websocket".into(), is_http2, None);
            let answer = upgrade.accept(backend.body(()).unwrap(), tokio::io::empty());
            let mut names: Vec<_> = answer.headers().keys().map(|name| name.as_str()).collect();
            names.sort_unstable();
            match is_http2 {
                true => assert_eq!(names, ["sec-websocket-protocol"]),
                false => assert_eq!(names, ["connection", "sec-websocket-protocol", "upgrade"]),
            }
        }
    }
}
