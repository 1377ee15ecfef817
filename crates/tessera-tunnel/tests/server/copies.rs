//! Copies of first flights, as an attacker on the path can make them.

use std::net::SocketAddr;

use tessera_tokio::EarlyData;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::world::{Client, answer, within};

/// Relays one connection, and returns what its client sent before the server's first answer.
async fn recording(server: SocketAddr) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let recording = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut server = TcpStream::connect(server).await.unwrap();
        let (mut sent, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            tokio::select! {
                count = client.read(&mut buffer) => {
                    let count = count.unwrap();
                    sent.extend_from_slice(&buffer[..count]);
                    server.write_all(&buffer[..count]).await.unwrap();
                }
                ready = server.readable() => break ready.unwrap(),
            }
        }
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        sent
    });
    (address, recording)
}

/// Returns a flight that was accepted.
pub async fn accepted(client: &Client, server: SocketAddr) -> Vec<u8> {
    client.request(server, b"first").await.unwrap();
    let (relay, recorded) = recording(server).await;
    let EarlyData::Accepted { mut stream, .. } = client.early(relay, b"pay").await else {
        panic!("not accepted")
    };
    assert_eq!(answer(&mut stream).await.unwrap(), b"pay");
    within(recorded).await.unwrap()
}

/// Sends a copy of a flight, and waits for the server's answer.
pub async fn copy(server: SocketAddr, flight: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(server).await.unwrap();
    socket.write_all(flight).await.unwrap();
    within(socket.read_exact(&mut [0])).await.unwrap();
    socket
}
