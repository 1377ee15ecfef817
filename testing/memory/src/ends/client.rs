//! The client of a test.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tessera::crypto::Provider;
use tessera::resume::{KnownServerKey, PskKind};
use tessera::{Destination, EarlyDataStatus, Facts};
use tessera_tokio::Connector;
use zeroize::Zeroizing;

use crate::Error;
use crate::configuration;
use crate::marks::{Marks, mark};
use crate::pki::SERVER_NAME;
use crate::way::Way;

/// The client of a test.
#[derive(Clone)]
pub struct Client {
    pub way: Way,
    pub server: SocketAddr,
    pub connector: Connector,
    known_server_key: Option<Box<KnownServerKey>>,
    /// Records what is sent, if set.
    pub marks: Option<Arc<Marks>>,
}

impl Client {
    /// Creates a client of this server.
    pub fn new(
        way: Way,
        server: SocketAddr,
        provider: Provider,
        directory: &Path,
        marks: Option<Arc<Marks>>,
    ) -> Result<Self, Error> {
        let connector = Connector::new(configuration::client(way, provider, directory)?);
        let known_server_key = configuration::known_server_key(way, directory)?;
        Ok(Self { way, server, connector, known_server_key, marks })
    }

    /// Returns where it connects to.
    pub fn destination(&self) -> Destination {
        let server_name = SERVER_NAME.to_owned();
        let known_server_key = self.known_server_key.clone();
        Destination { server_name, known_server_key, ..Destination::default() }
    }

    /// Checks that a connection was what its way demands.
    pub fn check(&self, facts: &Facts, resumed: bool) -> Result<(), Error> {
        let early_data = resumed && self.way.has_early_data();
        let wanted = match (resumed, early_data) {
            (false, _) if self.way == Way::KnownKey => Some(PskKind::KnownKey),
            (false, _) => None,
            (true, false) => Some(PskKind::Resumption),
            (true, true) => Some(PskKind::ForwardSecret),
        };
        let accepted = facts.early_data == EarlyDataStatus::Accepted;
        if facts.psk != wanted || accepted != early_data {
            return Err(format!("a connection was {:?} and not {wanted:?}", facts.psk).into());
        }
        Ok(())
    }

    /// Returns a request with a mark in it.
    pub fn request(&self, name: &str) -> Zeroizing<Vec<u8>> {
        let mark = mark();
        if self.way != Way::FsHttp {
            if let Some(marks) = &self.marks {
                marks.keep(name, &mark);
            }
            return mark;
        }
        // hyper keeps requests in buffers that it doesn't wipe: the search is for what decrypts connections. The first
        // request keeps the connection, the second ends it.
        let connection = if name == "early plaintext" { "keep-alive" } else { "close" };
        let mark = String::from_utf8_lossy(&mark);
        let request =
            format!("GET /{mark} HTTP/1.1\r\nConnection: {connection}\r\nCookie: {mark}\r\n\r\n");
        Zeroizing::new(request.into_bytes())
    }
}
