//! Connects to an origin by one route.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::Connection;
use tessera_tokio::Connector;
use tessera_tokio::hyper::{HttpsConnector, HttpsStream};
use tokio::time::timeout;
use tower_service::Service;

use crate::alternative::{Alternative, Protocol};

/// TLS with an origin over the connections of a [`Detour`]. Server name, certificate and sessions are the
/// origin's, whatever the route (RFC 7838 §2.1).
#[derive(Clone)]
pub(crate) struct RouteConnector<C> {
    https: HttpsConnector<Detour<C>>,
    /// What an alternative must speak, and how long it may take.
    terms: Option<(Protocol, Duration)>,
}

impl<C> RouteConnector<C> {
    pub(crate) fn to_origin(inner: C, tls: Connector) -> Self {
        Self { https: HttpsConnector::over(Detour { inner, by: None }, tls), terms: None }
    }

    /// Connects to an alternative, within `limit`.
    pub(crate) fn to_alternative(
        inner: C,
        tls: Connector,
        alternative: &Alternative,
        limit: Duration,
    ) -> Self {
        let https = HttpsConnector::over(Detour { inner, by: Some(alternative.uri()) }, tls);
        Self { https, terms: Some((alternative.protocol, limit)) }
    }
}

impl<C> Service<Uri> for RouteConnector<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static>,
    C::Response: Connection + Read + Write + Unpin + Send + 'static,
{
    type Response = HttpsStream<C::Response>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.https.call(uri);
        let Some((protocol, limit)) = self.terms else { return connecting };
        Box::pin(async move {
            let Ok(connected) = timeout(limit, connecting).await else {
                let why = format!("the alternative was not connected within {limit:?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, why).into());
            };
            let stream = connected?;
            // RFC 7838 §2.4: with another protocol than the announced one, the connection has failed.
            if stream.connected().is_negotiated_h2() != (protocol == Protocol::Http2) {
                let name = protocol.alpn().escape_ascii();
                return Err(format!(
                    "the alternative was announced for {name}, and does not speak it"
                )
                .into());
            }
            Ok(stream)
        })
    }
}

/// Connects elsewhere than the URI names.
#[derive(Clone)]
struct Detour<C> {
    inner: C,
    by: Option<Uri>,
}

impl<C: Service<Uri>> Service<Uri> for Detour<C> {
    type Response = C::Response;
    type Error = C::Error;
    type Future = C::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> C::Future {
        self.inner.call(self.by.clone().unwrap_or(uri))
    }
}

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;
