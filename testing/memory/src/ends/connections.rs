//! A client's connections, one after the other and several at a time.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tessera_adversary::Capture;
use tessera_tokio::{Connector, EarlyData, MemorySessionStore, TrackedStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, spawn_blocking};
use zeroize::Zeroizing;

use super::client::Client;
use super::{datagrams, sleeping};
use crate::Error;
use crate::keys_ahead;
use crate::tape::{Recording, Tap, Tape, last};
use crate::way::{Carrier, Way};

impl Client {
    /// Makes this many connections in its way, several at a time; resumptions have full handshakes before them. Returns
    /// the recordings when the last one has ended.
    pub async fn connect(&self, count: usize) -> Result<Vec<Capture>, Error> {
        let mut tasks = JoinSet::new();
        for task in 0..PARALLEL.min(count) {
            let client = self.clone();
            let share = count / PARALLEL + usize::from(task < count % PARALLEL);
            tasks.spawn(async move { client.chain(share).await });
        }
        let mut recordings = Vec::new();
        while let Some(task) = tasks.join_next().await {
            recordings.extend(task??);
        }
        Ok(last(recordings))
    }

    /// Makes one connection after the other.
    async fn chain(self, count: usize) -> Result<Vec<Recording>, Error> {
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = self.connector.clone().with_sessions(sessions);
        let mut recordings = Vec::new();
        if self.way.is_resumption() {
            recordings.push(self.one(&connector, false).await?);
        }
        for _ in 0..count {
            recordings.push(self.one(&connector, self.way.is_resumption()).await?);
        }
        Ok(recordings)
    }

    async fn one(&self, connector: &Connector, resumed: bool) -> Result<Recording, Error> {
        let tape = Tape::default();
        match self.way.carrier() {
            Carrier::Stream => self.stream(connector, resumed, &tape).await?,
            Carrier::Datagrams => datagrams::connect(self, connector, resumed).await?,
            Carrier::SleepingDatagrams => {
                let client = self.clone();
                spawn_blocking(move || sleeping::connect(&client)).await??;
            }
        }
        Ok(tape.end())
    }

    async fn stream(&self, connector: &Connector, resumed: bool, tape: &Tape) -> Result<(), Error> {
        let socket = TcpStream::connect(self.server).await?;
        socket.set_nodelay(true)?;
        let io =
            TrackedStream { stream: socket, tracker: Tap { tape: tape.clone(), is_client: true } };
        let early_data = resumed && self.way.has_early_data();
        let mut stream = connector.start(self.destination(), io).await?;
        if early_data {
            let request = self.request("early plaintext");
            let became = stream.handshake_with_early_data(&request).await;
            let whole =
                matches!(became, EarlyData::Accepted { count, .. } if count == request.len());
            if !whole {
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
        let mut received = Zeroizing::new(Vec::with_capacity(ROOM));
        let ended = stream.read_to_end(&mut received).await;
        // A server that closes may end the connection right after the page.
        ended.or_else(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof if self.way == Way::FsHttp => Ok(0),
            _ => Err(error),
        })?;
        self.check(stream.facts(), resumed)
    }
}

/// Makes connections in a process that is attacked, and stays when they have ended.
pub async fn run(
    way: Way,
    directory: &Path,
    server: SocketAddr,
    count: usize,
) -> Result<(), Error> {
    let provider = match way.takes_keys_ahead() {
        true => keys_ahead::of_client()?,
        false => tessera_aws_lc::provider(),
    };
    Client::new(way, server, provider, directory, None)?.connect(count).await?;
    keys_ahead::check()?;
    println!("ended");
    // Until the test no longer needs it.
    spawn_blocking(|| io::stdin().read_line(&mut String::new())).await??;
    Ok(())
}

/// Returns how many connections the server then sees.
pub fn served(way: Way, count: usize) -> usize {
    if way.is_resumption() { count + count.min(PARALLEL) } else { count }
}

/// How many connections there are at a time.
pub const PARALLEL: usize = 8;

/// Larger than an answer: a vector that grows leaves its old contents in memory.
const ROOM: usize = 64 * 1024;
