//! Connections: this process is the client.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tessera::crypto::Provider;
use tessera::resume::PskKind;
use tessera::{Destination, EarlyDataStatus};
use tessera_lab::Capture;
use tessera_tokio::{Connector, EarlyData, MemorySessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Error;
use crate::configuration;
use crate::marks::Marks;
use crate::pki::SERVER_NAME;
use crate::tape::{Recorded, Tape};
use crate::way::Way;

/// The client of a test.
#[derive(Clone)]
pub struct Client {
    pub way: Way,
    pub server: SocketAddr,
    pub connector: Connector,
    pub marks: Arc<Marks>,
}

impl Client {
    /// A client of this server.
    pub fn new(
        way: Way,
        server: SocketAddr,
        provider: Provider,
        directory: &Path,
    ) -> Result<Self, Error> {
        let connector = Connector::new(configuration::client(way, provider, directory)?);
        Ok(Self { way, server, connector, marks: Arc::default() })
    }

    /// Makes this many connections in its way, on so many tasks at a time; resumptions have full
    /// handshakes before them. Gives the recordings when the last one has ended.
    pub async fn connect(&self, count: usize, parallel: usize) -> Result<Vec<Capture>, Error> {
        let mut tasks = JoinSet::new();
        for task in 0..parallel.min(count) {
            let client = self.clone();
            let share = count / parallel + usize::from(task < count % parallel);
            tasks.spawn(async move { client.chain(share).await });
        }
        let mut captures = Vec::new();
        while let Some(task) = tasks.join_next().await {
            captures.extend(task??);
        }
        Ok(captures)
    }

    /// One connection after the other.
    async fn chain(self, count: usize) -> Result<Vec<Capture>, Error> {
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = self.connector.clone().with_sessions(sessions);
        let mut captures = Vec::new();
        if self.way.is_resumption() {
            captures.push(self.one(&connector, false).await?);
        }
        for _ in 0..count {
            captures.push(self.one(&connector, self.way.is_resumption()).await?);
        }
        Ok(captures)
    }

    async fn one(&self, connector: &Connector, resumed: bool) -> Result<Capture, Error> {
        let socket = TcpStream::connect(self.server).await?;
        socket.set_nodelay(true)?;
        let tape = Tape::default();
        let io = Recorded { socket, tape: tape.clone(), is_client: true };
        let destination =
            Destination { server_name: SERVER_NAME.to_owned(), ..Destination::default() };
        let early_data = resumed && self.way.has_early_data();
        let mut stream = connector.start(destination, io).await?;
        if early_data {
            let request = self.request("early plaintext");
            let became = stream.handshake_with_early_data(&request).await?;
            if became != EarlyData::Accepted(request.len()) {
                return Err(format!("early data became {became:?}").into());
            }
        } else {
            stream.handshake().await?;
        }
        let request = self.request("application plaintext");
        stream.write_all(&request).await?;
        if self.way != Way::FsHttp {
            stream.shutdown().await?;
        }
        let ended = stream.read_to_end(&mut Vec::new()).await;
        // The page's last word is that of a server that closes.
        ended.or_else(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof if self.way == Way::FsHttp => Ok(0),
            _ => Err(error),
        })?;
        let facts = stream.facts();
        let wanted = match (resumed, early_data) {
            (false, _) => None,
            (true, false) => Some(PskKind::Resumption),
            (true, true) => Some(PskKind::ForwardSecret),
        };
        let accepted = facts.early_data == EarlyDataStatus::Accepted;
        if facts.psk != wanted || accepted != early_data {
            return Err(format!("a connection was {:?} and not {wanted:?}", facts.psk).into());
        }
        Ok(tape.take())
    }

    /// Something to send, with a mark in it.
    fn request(&self, name: &str) -> Vec<u8> {
        let mark = self.marks.make(name);
        if self.way != Way::FsHttp {
            return mark.to_vec();
        }
        // The first request keeps the connection, the second ends it.
        let connection = if name == "early plaintext" { "keep-alive" } else { "close" };
        let mark = String::from_utf8_lossy(&mark);
        format!("GET /{mark} HTTP/1.1\r\nConnection: {connection}\r\nCookie: {mark}\r\n\r\n")
            .into_bytes()
    }
}
