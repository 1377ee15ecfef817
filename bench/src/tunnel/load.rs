//! The clients in front of the tunnels.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::backend::{BLOCK, ECHO, GIVE, TAKE};

/// How long one connection may take before it counts as an error.
const PATIENCE: Duration = Duration::from_secs(30);

/// The direction of a stream's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

/// The connections made, and their outcome.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLog {
    /// How long each took, from `connect` to the last byte of the answer.
    pub(crate) latencies: Vec<Duration>,
    pub(crate) errors: Vec<io::Error>,
}

/// Makes connections, this many at a time: each sends a request of this many bytes, receives the echo, and ends.
pub(crate) async fn connections(
    to: SocketAddr,
    count: usize,
    at_once: usize,
    bytes: usize,
) -> ConnectionLog {
    let mut clients = JoinSet::new();
    for number in 0..at_once {
        let share = count / at_once + usize::from(number < count % at_once);
        clients.spawn(async move {
            let mut made = ConnectionLog::default();
            for _ in 0..share {
                match within(exchange(to, bytes)).await {
                    Ok(latency) => made.latencies.push(latency),
                    Err(error) => made.errors.push(error),
                }
            }
            made
        });
    }
    let mut all = ConnectionLog::default();
    while let Some(made) = clients.join_next().await {
        match made {
            Ok(made) => {
                all.latencies.extend(made.latencies);
                all.errors.extend(made.errors);
            }
            Err(error) => all.errors.push(io::Error::other(error)),
        }
    }
    all
}

/// One connection with one request, ended by both sides.
pub(crate) async fn exchange(to: SocketAddr, bytes: usize) -> io::Result<Duration> {
    let began = Instant::now();
    let mut open = Open::connect(to, bytes).await?;
    let latency = began.elapsed();
    open.socket.shutdown().await?;
    let mut rest = [0; 1];
    match open.socket.read(&mut rest).await? {
        0 => Ok(latency),
        _ => Err(io::Error::other("more came back than was sent")),
    }
}

/// A connection that stays open.
pub(crate) struct Open {
    socket: TcpStream,
}

impl Open {
    /// Connects, and has this many bytes echoed.
    pub(crate) async fn connect(to: SocketAddr, bytes: usize) -> io::Result<Self> {
        let mut socket = TcpStream::connect(to).await?;
        socket.set_nodelay(true)?;
        let mut request = vec![b'x'; bytes + 1];
        request[0] = ECHO;
        socket.write_all(&request).await?;
        let mut open = Self { socket };
        open.echoed(bytes).await?;
        Ok(open)
    }

    /// Has this many bytes more echoed.
    pub(crate) async fn again(&mut self, bytes: usize) -> io::Result<()> {
        self.socket.write_all(&vec![b'x'; bytes]).await?;
        self.echoed(bytes).await
    }

    async fn echoed(&mut self, bytes: usize) -> io::Result<()> {
        let mut answer = vec![0; bytes];
        self.socket.read_exact(&mut answer).await?;
        if answer.iter().all(|byte| *byte == b'x') {
            Ok(())
        } else {
            Err(io::Error::other("other bytes came back than were sent"))
        }
    }
}

/// Opens this many connections, in batches, and has this many bytes echoed on each.
pub(crate) async fn open(
    to: SocketAddr,
    count: usize,
    bytes: usize,
) -> (Vec<Open>, Vec<io::Error>) {
    const AT_ONCE: usize = 64;
    let (mut opened, mut errors) = (Vec::new(), Vec::new());
    let mut opening = JoinSet::new();
    let mut left = count;
    loop {
        while left > 0 && opening.len() < AT_ONCE {
            left -= 1;
            opening.spawn(within(Open::connect(to, bytes)));
        }
        match opening.join_next().await {
            None => return (opened, errors),
            Some(Ok(Ok(open))) => opened.push(open),
            Some(Ok(Err(error))) => errors.push(error),
            Some(Err(error)) => errors.push(io::Error::other(error)),
        }
    }
}

/// Sends this many bytes over this many simultaneous streams, in equal shares.
pub(crate) async fn streams(
    to: SocketAddr,
    streams: usize,
    bytes: u64,
    direction: Direction,
) -> io::Result<()> {
    let mut clients = JoinSet::new();
    for _ in 0..streams {
        clients.spawn(stream(to, bytes / streams as u64, direction));
    }
    while let Some(ended) = clients.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

async fn stream(to: SocketAddr, bytes: u64, direction: Direction) -> io::Result<()> {
    let mut socket = TcpStream::connect(to).await?;
    socket.set_nodelay(true)?;
    let what = if direction == Direction::ToServer { TAKE } else { GIVE };
    let mut order = vec![what];
    order.extend(bytes.to_be_bytes());
    socket.write_all(&order).await?;
    let mut block = vec![0x5a; BLOCK];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(BLOCK as u64) as usize;
        match direction {
            Direction::ToServer => {
                socket.write_all(&block[..part]).await?;
                left -= part as u64;
            }
            Direction::ToClient => match socket.read(&mut block).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => left = left.saturating_sub(read as u64),
            },
        }
    }
    if direction == Direction::ToServer && socket.read_u8().await? != TAKE {
        return Err(io::Error::other("the backend did not take all"));
    }
    socket.shutdown().await
}

/// Fails after a limit, instead of waiting without end.
pub(crate) async fn within<T>(what: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(PATIENCE, what).await.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, "no answer within half a minute"))
    })
}
