//! A server that answers, and wipes its plaintext.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tessera_lab::Capture;
use tessera_tokio::{Acceptor, TrackedStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use crate::Error;
use crate::configuration;
use crate::marks::{Marks, is_mark, mark};
use crate::recorder::Recorder;
use crate::slips::{self, Slip};
use crate::tape::{Tap, Tape, last};
use crate::way::Way;

/// The server of a test, in this process: the client is attacked.
pub struct Server {
    listener: TcpListener,
    acceptor: Acceptor,
    pub marks: Arc<Marks>,
}

impl Server {
    /// Listens on a free port.
    pub async fn start(
        way: Way,
        recorder: &'static Recorder,
        directory: &Path,
    ) -> Result<Self, Error> {
        let config = configuration::server(way, recorder.provider(), directory, None)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        Ok(Self { listener, acceptor: Acceptor::new(config), marks: Arc::default() })
    }

    /// Returns where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves this many connections to their ends; returns the recordings of the last ones.
    pub async fn serve(&self, count: usize) -> Result<Vec<Capture>, Error> {
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let (socket, _) = self.listener.accept().await?;
            let (acceptor, marks) = (self.acceptor.clone(), self.marks.clone());
            tasks.spawn(async move {
                let tape = Tape::default();
                let io = TrackedStream {
                    stream: socket,
                    tracker: Tap { tape: tape.clone(), is_client: false },
                };
                let reply = |received: &[u8]| {
                    // Other clients send fixed text, which is not secret.
                    if is_mark(received) {
                        marks.keep("plaintext of the client", received);
                    }
                    let reply = mark();
                    marks.keep("plaintext of the server", &reply);
                    reply
                };
                answer(&acceptor, io, reply).await?;
                io::Result::Ok(tape.end())
            });
        }
        let mut recordings = Vec::new();
        while let Some(task) = tasks.join_next().await {
            recordings.push(task??);
        }
        Ok(last(recordings))
    }

    /// Accepts this many connections and sends nothing: clients that wait for an answer have ended all other
    /// connections before.
    pub async fn keep_waiting(&self, count: usize) -> Result<Vec<TcpStream>, Error> {
        let mut kept = Vec::new();
        while kept.len() < count {
            kept.push(self.listener.accept().await?.0);
        }
        Ok(kept)
    }
}

/// Serves without end, in a process that is attacked.
pub async fn run(way: Way, directory: &Path, slip: Option<Slip>) -> Result<(), Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{{\"address\":\"{}\"}}", listener.local_addr()?);
    let config = configuration::server(way, slips::provider(slip), directory, slip)?;
    let acceptor = Acceptor::new(config);
    loop {
        let (socket, _) = listener.accept().await?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let reply = |received: &[u8]| {
                slips::received(slip, received);
                Zeroizing::new(received.to_vec())
            };
            let _ = answer(&acceptor, socket, reply).await;
        });
    }
}

async fn answer<IO: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    acceptor: &Acceptor,
    io: IO,
    reply: impl Fn(&[u8]) -> Zeroizing<Vec<u8>>,
) -> io::Result<()> {
    let mut stream = acceptor.accept_early(io).await?;
    let mut buffer = Zeroizing::new(vec![0; 4096]);
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return stream.shutdown().await;
        }
        stream.write_all(&reply(&buffer[..count])).await?;
    }
}
