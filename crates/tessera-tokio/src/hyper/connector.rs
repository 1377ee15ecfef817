//! Makes the connections of a client.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tessera::Destination;
use tower_service::Service;

use super::report::FlightReport;
use super::stream::HttpsStream;
use crate::connector::Connector;

/// Connects to `https://` URIs, over TCP or another connector, with TLS by [`Connector::first_flight`].
/// Refuses `http://`.
///
/// The configuration's `protocols` determine HTTP/2: `h2` and `http/1.1` for clients that support both.
#[derive(Clone)]
pub struct HttpsConnector<C = HttpConnector> {
    tls: Connector,
    inner: C,
    plaintext: Plaintext,
    protocol: Option<&'static [u8]>,
    reports: Option<Arc<dyn Fn(FlightReport) + Send + Sync>>,
}

/// How `http://` is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plaintext {
    Refused,
    Allowed,
    /// TLS is used for it too.
    #[cfg(feature = "tonic")]
    Secured,
}

impl HttpsConnector {
    /// Connects by TCP.
    pub fn new(tls: Connector) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        // The stream already batches what belongs together.
        tcp.set_nodelay(true);
        Self::over(tcp, tls)
    }
}

impl<C> HttpsConnector<C> {
    /// Connects with `inner`, and runs TLS over that.
    pub fn over(inner: C, tls: Connector) -> Self {
        Self { tls, inner, plaintext: Plaintext::Refused, protocol: None, reports: None }
    }

    /// Allows `http://` too, without TLS.
    #[must_use]
    pub fn with_plaintext_http(mut self) -> Self {
        self.plaintext = Plaintext::Allowed;
        self
    }

    /// Passes the report of each new connection to `give`: for clients whose errors don't lead to it, such as
    /// tonic's.
    #[must_use]
    pub fn reporting(mut self, give: impl Fn(FlightReport) + Send + Sync + 'static) -> Self {
        self.reports = Some(Arc::new(give));
        self
    }

    /// Uses TLS and HTTP/2 whatever the scheme, for gRPC.
    #[cfg(feature = "tonic")]
    pub(crate) fn for_grpc(mut self) -> Self {
        self.plaintext = Plaintext::Secured;
        self.protocol = Some(b"h2");
        self
    }
}

impl<C> Service<Uri> for HttpsConnector<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static>,
    C::Response: Connection + Read + Write + Unpin + Send + 'static,
{
    type Response = HttpsStream<C::Response>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let is_plain = uri.scheme() != Some(&Scheme::HTTPS);
        if is_plain && self.plaintext == Plaintext::Refused {
            return Box::pin(async { Err(invalid("only https:// is allowed")) });
        }
        let Some(host) = uri.host().map(server_name) else {
            return Box::pin(async { Err(invalid("the URI names no host")) });
        };
        let is_plain = is_plain && self.plaintext == Plaintext::Allowed;
        let (tls, protocol, reports) = (self.tls.clone(), self.protocol, self.reports.clone());
        let connecting = self.inner.call(uri);
        Box::pin(async move {
            let io = connecting.await.map_err(Into::into)?;
            if is_plain {
                return Ok(HttpsStream::plain(io));
            }
            let destination = Destination { server_name: host, ..Default::default() };
            let mut stream = tls.first_flight(destination, TokioIo::new(io)).await?;
            // The session or the handshake determines the version of HTTP.
            stream.ready().await?;
            if protocol.is_some_and(|protocol| stream.protocol() != Some(protocol)) {
                return Err(invalid("the server doesn't speak HTTP/2 (ALPN h2)"));
            }
            let report = FlightReport::default();
            if let Some(give) = reports {
                give(report.clone());
            }
            Ok(HttpsStream::tls(stream, report))
        })
    }
}

/// Returns the host as TLS names it: only a URI puts an IPv6 address in brackets (RFC 3986 §3.2.2).
fn server_name(host: &str) -> String {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    address.unwrap_or(host).to_owned()
}

fn invalid(why: &'static str) -> BoxError {
    io::Error::new(io::ErrorKind::InvalidInput, why).into()
}

type BoxError = Box<dyn Error + Send + Sync>;
