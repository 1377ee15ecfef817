//! Places that a connection should not lead to.

use std::net::SocketAddr;

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Returns the address of a port that is closed.
pub async fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// A listener whose connections nothing answers: the kernel accepts them.
pub async fn black_hole() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Returns the address of a host that reads the beginning of each connection, and then resets it.
pub async fn reset_after_flight() -> SocketAddr {
    let (listener, address) = black_hole().await;
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                // The whole flight is a few hundred bytes, and written at once.
                let _ = socket.read(&mut [0; 64 * 1024]).await;
                SockRef::from(&socket).set_linger(Some(std::time::Duration::ZERO)).unwrap();
            });
        }
    });
    address
}

/// Returns the address of a path to a server that passes on nothing from it, and is cut off once the server
/// has executed something.
pub async fn swallows_answers(server: SocketAddr, executed: watch::Receiver<usize>) -> SocketAddr {
    let (listener, address) = black_hole().await;
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(server).await.unwrap();
            let mut executed = executed.clone();
            executed.mark_unchanged();
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (_from_server, mut to_server) = server.into_split();
                tokio::select! {
                    _ = copy(&mut from_client, &mut to_server) => (),
                    _ = executed.changed() => (),
                }
                let _ = to_client.shutdown().await;
            });
        }
    });
    address
}
