//! Tessera's own server, with as much HTTP as clients need.

use std::net::SocketAddr;

use tessera::ServerConfig;
use tessera_tokio::{Acceptor, ServerStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Starts a server that answers one request in each connection, and then closes it.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn serve(config: ServerConfig) -> SocketAddr {
    let acceptor = Acceptor::new(config.checked().unwrap());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(client).await {
                    answer(stream).await;
                }
            });
        }
    });
    address
}

async fn answer(mut stream: ServerStream<TcpStream>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_buf(&mut request).await {
            Ok(0) | Err(_) => return,
            Ok(_) => (),
        }
    }
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    if stream.write_all(response).await.is_ok() {
        let _ = stream.shutdown().await;
    }
}
