//! Connections with TLS.

use std::io;
use std::time::Duration;

use tessera::Destination;
use tessera_tokio::{Connector, FirstFlight};

use super::{Connect, Connecting, Protocol, Transport};
use crate::dial::Dialler;

/// Connects with TLS; the first request of a connection may travel as early data. The configuration's `protocols`
/// (ALPN) determine the version of HTTP; HTTP/1.1 if the server chose none.
pub struct Tls {
    connector: Connector,
    server_name: Option<String>,
    for_upgrades: Option<Connector>,
}

impl Tls {
    /// Verifies the certificate for the host of each address. Unix sockets have none: they need [`named`](Self::named).
    pub fn new(connector: Connector) -> Self {
        Self { connector, server_name: None, for_upgrades: None }
    }

    /// Verifies the certificate for this name at every address, and sends it as SNI.
    #[must_use]
    pub fn named(mut self, server_name: impl Into<String>) -> Self {
        self.server_name = Some(server_name.into());
        self
    }

    /// Connects by this connector for upgrades, which need HTTP/1.1: its `protocols` must not include `h2`. Not needed if
    /// those of the other don't either.
    #[must_use]
    pub fn for_upgrades(mut self, connector: Connector) -> Self {
        self.for_upgrades = Some(connector);
        self
    }

    async fn connect(
        &self,
        connector: &Connector,
        to: &Dialler,
        early: bool,
    ) -> io::Result<Transport> {
        let Some(server_name) = self.server_name.clone().or_else(|| to.address().host()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "TLS needs a server name, and a Unix socket has none: set one with `Tls::named`",
            ));
        };
        let socket = to.dial().await.map_err(|error| io::Error::new(error.kind(), error))?;
        let port = to.address().port();
        let destination = Destination { server_name, port, ..Default::default() };
        let stream = if early {
            let stream = connector.first_flight(destination, socket).await?;
            let mut stream = stream.wait_at_most(WAIT_FOR_REQUEST);
            stream.ready().await?;
            stream
        } else {
            FirstFlight::from(connector.connect(destination, socket).await?)
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
        Box::pin(Tls::connect(self, &self.connector, to, early))
    }

    fn connect_http1<'c>(&'c self, to: &'c Dialler) -> Connecting<'c> {
        let connector = self.for_upgrades.as_ref().unwrap_or(&self.connector);
        Box::pin(Tls::connect(self, connector, to, false))
    }
}

/// How long a flight waits for its request, which follows as soon as the connection is made: the wait is only this long
/// if the call was dropped in between.
const WAIT_FOR_REQUEST: Duration = Duration::from_millis(20);
