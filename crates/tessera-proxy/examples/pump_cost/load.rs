//! Senders and receivers.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use crate::Failure;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

/// The backend, and the runtime of its clients.
pub(crate) struct Load {
    runtime: Runtime,
    pub(crate) backend: SocketAddr,
}

impl Load {
    pub(crate) fn start() -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("load")
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let backend = listener.local_addr()?;
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let _ = serve(socket).await;
                });
            }
        });
        Ok(Self { runtime, backend })
    }

    pub(crate) fn send(
        &self,
        to: SocketAddr,
        direction: Direction,
        bytes: usize,
        streams: usize,
    ) -> Result<(), Failure> {
        self.runtime.block_on(async {
            let share = bytes / streams;
            let tasks: Vec<_> =
                (0..streams).map(|_| tokio::spawn(ask(to, direction, share))).collect();
            for task in tasks {
                task.await??;
            }
            Ok(())
        })
    }
}

/// Runs a client, which first sends how much it will send and how much it wants.
async fn ask(to: SocketAddr, direction: Direction, share: usize) -> Result<(), Failure> {
    let mut socket = TcpStream::connect(to).await?;
    socket.set_nodelay(true)?;
    let (sent, wanted) = match direction {
        Direction::ToServer => (share, 0),
        Direction::ToClient => (0, share),
    };
    socket
        .write_all(&[(sent as u64).to_be_bytes(), (wanted as u64).to_be_bytes()].concat())
        .await?;
    send(&mut socket, sent).await?;
    if receive(&mut socket, wanted).await? && socket.read_u8().await? == 1 {
        return Ok(());
    }
    Err("the stream ended too early".into())
}

async fn serve(mut socket: TcpStream) -> Result<(), Failure> {
    socket.set_nodelay(true)?;
    let (sent, wanted) = (socket.read_u64().await?, socket.read_u64().await?);
    if receive(&mut socket, sent as usize).await? {
        send(&mut socket, wanted as usize).await?;
        socket.write_u8(1).await?;
    }
    Ok(())
}

async fn send(socket: &mut TcpStream, count: usize) -> Result<(), Failure> {
    let data: Arc<[u8]> = vec![7; PIECE].into();
    let mut left = count;
    while left > 0 {
        let piece = left.min(PIECE);
        socket.write_all(&data[..piece]).await?;
        left -= piece;
    }
    Ok(())
}

async fn receive(socket: &mut TcpStream, count: usize) -> Result<bool, Failure> {
    let mut buffer = vec![0; PIECE];
    let mut left = count;
    while left > 0 {
        match socket.read(&mut buffer[..PIECE.min(left)]).await? {
            0 => return Ok(false),
            count => left -= count,
        }
    }
    Ok(true)
}

const PIECE: usize = 256 * 1024;
