//! The backend of the tunnels: it echoes, receives or sends bytes, depending on a connection's first byte.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Everything that follows is echoed.
pub(crate) const ECHO: u8 = b'E';
/// This many bytes follow (u64, big-endian); then one byte is returned.
pub(crate) const TAKE: u8 = b'T';
/// This many bytes are returned.
pub(crate) const GIVE: u8 = b'G';

/// The size of each read and write of a stream.
pub(crate) const BLOCK: usize = 64 * 1024;

/// Listens on loopback, and serves for as long as the runtime lives.
pub(crate) async fn start() -> io::Result<SocketAddr> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind((std::net::Ipv4Addr::LOCALHOST, 0).into())?;
    let listener = socket.listen(4096)?;
    let address = listener.local_addr()?;
    tokio::spawn(accept(listener));
    Ok(address)
}

async fn accept(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => drop(tokio::spawn(async move {
                // The client sees and counts failures.
                let _ = serve(socket).await;
            })),
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}

async fn serve(mut socket: TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    match socket.read_u8().await? {
        ECHO => echo(&mut socket).await?,
        TAKE => {
            take(&mut socket).await?;
            socket.write_u8(TAKE).await?;
        }
        GIVE => give(&mut socket).await?,
        other => return Err(io::Error::other(format!("nothing begins with {other}"))),
    }
    socket.shutdown().await
}

/// It allocates only while it has something to echo.
async fn echo(socket: &mut TcpStream) -> io::Result<()> {
    loop {
        socket.readable().await?;
        let mut block = [0; 4096];
        match socket.try_read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(read) => socket.write_all(&block[..read]).await?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn take(socket: &mut TcpStream) -> io::Result<()> {
    let mut left = socket.read_u64().await?;
    let mut block = vec![0; BLOCK];
    while left > 0 {
        let read = socket.read(&mut block).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left = left.saturating_sub(read as u64);
    }
    Ok(())
}

async fn give(socket: &mut TcpStream) -> io::Result<()> {
    let mut left = socket.read_u64().await?;
    let block = vec![0x5a; BLOCK];
    while left > 0 {
        let part = left.min(BLOCK as u64) as usize;
        socket.write_all(&block[..part]).await?;
        left -= part as u64;
    }
    Ok(())
}
