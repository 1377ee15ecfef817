//! gRPC with tonic, both ends.
//!
//! [`connector`] is for `Endpoint::connect_with_connector`, [`incoming`] for `serve_with_incoming`. tonic's
//! own TLS stays off. `examples/grpc` in the repository is a whole program, and `docs/library.md` outlines
//! it.
//!
//! Requests of a server's connection have [`StreamInfo`] as an extension: the client's identity, and whether
//! its handshake is complete. Calls are not marked, so don't enable replayable early data on the listener.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tonic::transport::server::Connected;

use crate::connector::Connector;
use crate::hyper::HttpsConnector;
use crate::server::{ListenerStream, StreamInfo, TlsListener};

/// Makes a connector for `tonic::transport::Endpoint`, whose configuration must name the protocol `h2`. The
/// connection is TLS whatever the endpoint's scheme: tonic refuses `https` if one of its own TLS features is
/// on. Name the port.
///
/// A call on a new connection travels as early data if the session store has a forward-secret ticket. If it
/// may have been executed and has no answer, the message of its `Status` reports that; verdict and flight are
/// in the connection's report ([`HttpsConnector::reporting`]), since the crate `h2` only keeps the text of an
/// error.
///
/// ```no_run
/// use tessera_tokio::Connector;
/// use tonic::transport::{Channel, Endpoint, Error};
///
/// async fn channel(connector: Connector) -> Result<Channel, Error> {
///     let endpoint = Endpoint::from_static("http://server.example:443");
///     endpoint.connect_with_connector(tessera_tokio::tonic::connector(connector)).await
/// }
/// ```
pub fn connector(tls: Connector) -> HttpsConnector {
    HttpsConnector::new(tls).for_grpc()
}

/// Returns the clients of a listener, for `serve_with_incoming`.
///
/// ```no_run
/// use tessera_tokio::{Server, TlsListener};
/// use tonic::service::Routes;
///
/// async fn serve(server: Server, routes: Routes) -> Result<(), tonic::transport::Error> {
///     let clients = tessera_tokio::tonic::incoming(TlsListener::new(server));
///     tonic::transport::Server::builder().add_routes(routes).serve_with_incoming(clients).await
/// }
/// ```
pub fn incoming(listener: TlsListener) -> Incoming {
    Incoming(next(listener))
}

/// A stream of clients; it never ends.
pub struct Incoming(Next);

/// The next client, and the listener that it came from.
type Next = Pin<Box<dyn Future<Output = (ListenerStream, TlsListener)> + Send>>;

fn next(mut listener: TlsListener) -> Next {
    Box::pin(async move { (listener.accept().await, listener) })
}

impl Stream for Incoming {
    type Item = Result<ListenerStream, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (stream, listener) = ready!(self.0.as_mut().poll(cx));
        self.0 = next(listener);
        Poll::Ready(Some(Ok(stream)))
    }
}

impl Connected for ListenerStream {
    type ConnectInfo = StreamInfo;

    fn connect_info(&self) -> StreamInfo {
        self.info().clone()
    }
}
