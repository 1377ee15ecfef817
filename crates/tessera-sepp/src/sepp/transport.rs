//! Transports N32-c requests to peers.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, CallError, CallErrorKind, Pool, PoolOptions};
use tessera_proxy::http::deadline::Deadline;

use super::connects::ConnectionFactory;
use super::places;
use crate::identity::{CertificateIdentity, Identity};
use crate::n32c::responder::MAX_BODY;
use crate::n32c::{Reply, Target, Transport, TransportError};
use crate::names::Fqdn;

/// N32-c over HTTP. Each request has its own connection, which is closed after its answer: where TLS is chosen, N32-c
/// is torn down (TS 33.501 §13.1.2).
pub(super) struct HttpTransport(pub(super) ConnectionFactory);

impl HttpTransport {
    async fn post(
        &self,
        peer: &Fqdn,
        to: &Target,
        path: &'static str,
        body: Bytes,
        deadline: Deadline,
    ) -> Result<Reply, TransportError> {
        let live = self.0.0.upgrade().map(|live| live.borrow().clone());
        let nowhere = |why: &str| TransportError::Connect(why.to_owned());
        let known = live.as_ref().and_then(|live| live.configured(peer));
        let known = known.ok_or_else(|| nowhere("the peer isn't configured"))?;
        let addresses = places::n32c(known, &to.fqdn, to.port);
        let addresses = addresses.map_err(|error| nowhere(&error.to_string()))?;
        let authority = places::n32c_authority(known, &to.fqdn, to.port);
        let authority = authority.ok_or_else(|| nowhere("its name is not an authority"))?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("https://{authority}{path}"))
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(http::header::ACCEPT, ACCEPT)
            .body(Body::full(body))
            .map_err(|error| nowhere(&error.to_string()))?;
        let options = PoolOptions { connections: 1, ..PoolOptions::default() };
        let pool = Pool::new(self.0.n32c(peer, &to.fqdn), addresses, options);
        let answer = pool.call(request, Call::until(deadline)).await.map_err(|why| failed(&why))?;
        let identity = identity(answer.facts().and_then(|facts| facts.peer.as_ref()));
        let identity = identity.ok_or_else(|| nowhere("the peer showed no certificate"))?;
        let (parts, body) = answer.response.into_parts();
        let body = match deadline.limit(body.collect_up_to(MAX_BODY)).await {
            Ok(Ok(body)) => body.data,
            Ok(Err(error)) => return Err(TransportError::Cut(error.to_string())),
            Err(_) => return Err(TransportError::TimedOut),
        };
        pool.close();
        Ok(Reply { identity, status: parts.status, headers: parts.headers, body })
    }
}

const ACCEPT: HeaderValue = HeaderValue::from_static("application/json, application/problem+json");

impl Transport for HttpTransport {
    fn post<'a>(
        &'a self,
        peer: &'a Fqdn,
        to: &'a Target,
        path: &'static str,
        body: Bytes,
        deadline: Deadline,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, TransportError>> + Send + 'a>> {
        Box::pin(HttpTransport::post(self, peer, to, path, body, deadline))
    }
}

fn identity(peer: Option<&tessera::auth::PeerIdentity>) -> Option<CertificateIdentity> {
    Identity::decode(peer?).map(|identity| identity.certificate)
}

fn failed(error: &CallError) -> TransportError {
    match error.kind {
        CallErrorKind::DeadlineExceeded => TransportError::TimedOut,
        CallErrorKind::Unreachable => TransportError::Connect(why_unreachable(error)),
        _ => TransportError::Cut(error.to_string()),
    }
}

/// Returns what happened at the last address, and what to check if nothing answers there.
fn why_unreachable(error: &CallError) -> String {
    let Some(source) = error.source() else { return error.to_string() };
    let kind = source.downcast_ref::<io::Error>().map(io::Error::kind);
    let is_silent = matches!(
        kind,
        Some(
            io::ErrorKind::ConnectionRefused
                | io::ErrorKind::TimedOut
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable
        )
    );
    let advice = if is_silent {
        "; check that the peer's SEPP runs, and `address` or `srv` of this peer"
    } else {
        ""
    };
    format!("{source}{advice}")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;

    use tessera_proxy::http::client::{Addresses, Plaintext, Protocol, Target};

    use super::*;
    use crate::config::DialAddress;

    #[tokio::test]
    async fn an_address_where_nothing_listens_is_named_once_with_what_to_check() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let addresses = Addresses::Fixed([Target::new(DialAddress::Tcp(address))].into());
        let options = PoolOptions { connections: 1, ..PoolOptions::default() };
        let pool = Pool::new(Arc::new(Plaintext(Protocol::Http2)), addresses, options);
        let request = Request::get("http://peer.example/").body(Body::empty()).unwrap();
        let call = Call::until(Deadline::after(std::time::Duration::from_secs(10)));
        let error = failed(&pool.call(request, call).await.err().unwrap());
        let expected = format!(
            "no connection: {address}: Connection refused (os error 111); check that the peer's SEPP runs, and \
             `address` or `srv` of this peer"
        );
        assert_eq!(error.to_string(), expected);
    }
}
