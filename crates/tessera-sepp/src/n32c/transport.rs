//! Transport of requests to a peer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tessera_proxy::http::deadline::Deadline;

use crate::identity::CertificateIdentity;
use crate::names::Fqdn;

/// Sends requests of N32-c to peers.
pub trait Transport: Send + Sync + 'static {
    /// Sends `body` (`application/json`) by POST to `path` at `to`, a SEPP of the configured `peer`, and reads the
    /// whole answer, of at most [`MAX_BODY`](crate::n32c::responder::MAX_BODY).
    ///
    /// Each call has its own connection: mutual TLS without resumption or early data, whose server is verified to be
    /// `to.fqdn` under the peer's trust anchor. It is closed after the answer: where TLS is chosen, the initiator tears
    /// N32-c down (TS 33.501 §13.1.2, TS 29.573 §5.2.2).
    ///
    /// # Errors
    /// If no complete answer arrived before the deadline. A status of any kind is an answer.
    fn post<'a>(
        &'a self,
        peer: &'a Fqdn,
        to: &'a Target,
        path: &'static str,
        body: Bytes,
        deadline: Deadline,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, TransportError>> + Send + 'a>>;
}

/// A SEPP of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name, for SNI and `:authority`. For the name of the configured peer, the configured addresses are used; any
    /// other is resolved by DNS.
    pub fqdn: Fqdn,
    /// Its port. Default: that of the configured address, else 443.
    pub port: Option<u16>,
}

impl Target {
    /// Targets the configured peer itself.
    pub fn of(peer: &Fqdn) -> Self {
        Self { fqdn: peer.clone(), port: None }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fqdn)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// An answer, and the server that sent it.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The server's verified identity.
    pub identity: CertificateIdentity,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// No answer came from a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportError {
    /// No connection was established: addresses, TCP, TLS.
    Connect(String),
    /// The connection ended, or violated HTTP.
    Cut(String),
    /// The deadline passed.
    TimedOut,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(reason) => write!(f, "no connection: {reason}"),
            Self::Cut(reason) => write!(f, "no complete answer: {reason}"),
            Self::TimedOut => f.write_str("no answer in time"),
        }
    }
}

impl std::error::Error for TransportError {}
