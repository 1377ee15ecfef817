//! A server that answers, and wipes its plaintext.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use tessera::ServerConfig;
use tessera::handshake::Checked;
use tessera_adversary::Capture;
use tessera_tokio::{Acceptor, DatagramListener, TrackedStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, spawn_blocking};
use zeroize::Zeroizing;

use super::{datagrams, sleeping};
use crate::Error;
use crate::configuration;
use crate::keys_ahead;
use crate::marks::{Marks, is_mark, mark};
use crate::recorder::Recorder;
use crate::slips::{self, Slip};
use crate::tape::{Tap, Tape, last};
use crate::way::{Carrier, Way};

/// The server of a test, in this process: the client is attacked.
pub struct Server {
    listener: Listener,
    pub marks: Arc<Marks>,
}

/// What a server listens at, by carrier.
enum Listener {
    Stream(TcpListener, Acceptor),
    Datagrams(DatagramListener),
    SleepingDatagrams(UdpSocket, Checked<ServerConfig>),
}

impl Listener {
    /// Listens on a free port.
    async fn bind(way: Way, config: Checked<ServerConfig>) -> Result<Self, Error> {
        const ANY_PORT: &str = "127.0.0.1:0";
        Ok(match way.carrier() {
            Carrier::Stream => {
                Self::Stream(TcpListener::bind(ANY_PORT).await?, Acceptor::new(config))
            }
            Carrier::Datagrams => {
                let socket = tokio::net::UdpSocket::bind(ANY_PORT).await?;
                Self::Datagrams(datagrams::listen(socket, &Acceptor::new(config)))
            }
            Carrier::SleepingDatagrams => {
                Self::SleepingDatagrams(UdpSocket::bind(ANY_PORT)?, config)
            }
        })
    }

    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Stream(listener, _) => listener.local_addr(),
            Self::Datagrams(listener) => listener.local_addr(),
            Self::SleepingDatagrams(socket, _) => socket.local_addr(),
        }
    }
}

impl Server {
    /// Listens on a free port.
    pub async fn start(
        way: Way,
        recorder: &'static Recorder,
        directory: &Path,
    ) -> Result<Self, Error> {
        let config = configuration::server(way, recorder.provider(), directory, None)?;
        Ok(Self { listener: Listener::bind(way, config).await?, marks: Arc::default() })
    }

    /// Returns where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Serves this many connections to their ends; returns the recordings of the last ones.
    pub async fn serve(&self, count: usize) -> Result<Vec<Capture>, Error> {
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let marks = self.marks.clone();
            let reply = move |received: &[u8]| {
                // Other clients send fixed text, which is not secret.
                if is_mark(received) {
                    marks.keep("plaintext of the client", received);
                }
                let reply = mark();
                marks.keep("plaintext of the server", &reply);
                reply
            };
            match &self.listener {
                Listener::Stream(listener, acceptor) => {
                    let (socket, _) = listener.accept().await?;
                    let acceptor = acceptor.clone();
                    tasks.spawn(async move {
                        let tape = Tape::default();
                        let tracker = Tap { tape: tape.clone(), is_client: false };
                        let io = TrackedStream { stream: socket, tracker };
                        answer(&acceptor, io, reply).await?;
                        io::Result::Ok(tape.end())
                    });
                }
                Listener::Datagrams(listener) => {
                    let connection = listener.accept().await?;
                    tasks.spawn(async move {
                        datagrams::answer(connection, reply).await?;
                        Ok(Tape::default().end())
                    });
                }
                Listener::SleepingDatagrams(socket, config) => {
                    let (socket, config) = (socket.try_clone()?, config.clone());
                    spawn_blocking(move || sleeping::serve(&socket, &config, Some(count), reply))
                        .await??;
                    break;
                }
            }
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
        let Listener::Stream(listener, _) = &self.listener else {
            return Err("no client waits over datagrams".into());
        };
        let mut kept = Vec::new();
        while kept.len() < count {
            kept.push(listener.accept().await?.0);
        }
        Ok(kept)
    }
}

/// Serves without end, in a process that is attacked.
pub async fn run(way: Way, directory: &Path, slip: Option<Slip>) -> Result<(), Error> {
    let provider = match way.takes_keys_ahead() {
        true => keys_ahead::of_server()?,
        false => slips::provider(slip),
    };
    let config = configuration::server(way, provider, directory, slip)?;
    let listener = Listener::bind(way, config).await?;
    println!("{{\"address\":\"{}\"}}", listener.address()?);
    let reply = move |received: &[u8]| {
        slips::received(slip, received);
        Zeroizing::new(received.to_vec())
    };
    match listener {
        Listener::Stream(listener, acceptor) => loop {
            let (socket, _) = listener.accept().await?;
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                answer(&acceptor, socket, reply).await?;
                if let Err(error) = keys_ahead::check() {
                    // The client notices that the server is gone.
                    eprintln!("error: {error}");
                    std::process::exit(2);
                }
                io::Result::Ok(())
            });
        },
        Listener::Datagrams(listener) => loop {
            tokio::spawn(datagrams::answer(listener.accept().await?, reply));
        },
        Listener::SleepingDatagrams(socket, config) => {
            spawn_blocking(move || sleeping::serve(&socket, &config, None, reply)).await?
        }
    }
}

async fn answer<IO: AsyncRead + AsyncWrite + Unpin>(
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
