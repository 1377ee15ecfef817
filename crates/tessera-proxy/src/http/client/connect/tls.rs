//! Connections with TLS.

use std::io;
use std::time::Duration;

use tessera::Destination;
use tessera_tokio::{Connector, FirstFlight};

use super::{Connect, Connecting, Protocol, Transport};
use crate::dial::Dialler;

/// Connects with TLS; the first request of a connection may travel as early data. The configuration's `protocols`
/// (ALPN) decide which version of HTTP is spoken; HTTP/1.1 where the server chose none.
pub struct Tls {
    connector: Connector,
    server_name: Option<String>,
}

impl Tls {
    /// The certificate has to be for the host of each address. Unix sockets have none: they need
    /// [`named`](Self::named).
    pub fn new(connector: Connector) -> Self {
        Self { connector, server_name: None }
    }

    /// Whatever the address, the certificate has to be for this name, and it is the one that is sent (SNI).
    #[must_use]
    pub fn named(mut self, server_name: impl Into<String>) -> Self {
        self.server_name = Some(server_name.into());
        self
    }

    async fn connect(&self, to: &Dialler, early: bool) -> io::Result<Transport> {
        let Some(server_name) = self.server_name.clone().or_else(|| to.address().host()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the server has no name"));
        };
        let socket = to.dial().await.map_err(|error| io::Error::new(error.kind(), error))?;
        let port = to.address().port();
        let destination = Destination { server_name, port, ..Default::default() };
        let stream = if early {
            let stream = self.connector.first_flight(destination, socket).await?;
            let mut stream = stream.wait_at_most(WAIT_FOR_REQUEST);
            stream.ready().await?;
            stream
        } else {
            FirstFlight::from(self.connector.connect(destination, socket).await?)
        };
        let protocol = match stream.protocol() {
            Some(b"h2") => Protocol::Http2,
            None | Some(b"http/1.1") => Protocol::Http1,
            Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "not HTTP (ALPN)")),
        };
        Ok(Transport::tls(stream, protocol))
    }
}

impl Connect for Tls {
    fn connect<'c>(&'c self, to: &'c Dialler, early: bool) -> Connecting<'c> {
        Box::pin(Tls::connect(self, to, early))
    }
}

/// How long a flight waits for its request. It is handed over when the connection is made: nobody waits as long
/// unless the call was given up in that moment.
const WAIT_FOR_REQUEST: Duration = Duration::from_millis(20);
