//! A conversation between two ends of any stack.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream};

/// Both ends of a connection over loopback.
pub async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// Bytes that differ from place to place.
pub fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8).collect()
}

/// One end sends everything and closes its direction; then the other one does, which the first still receives.
pub async fn in_turn(
    mut first: impl AsyncRead + AsyncWrite + Unpin,
    mut second: impl AsyncRead + AsyncWrite + Unpin,
) {
    let data = bytes(LEN);
    let speaks_first = async {
        first.write_all(&data).await.unwrap();
        first.shutdown().await.unwrap();
        let mut heard = Vec::new();
        first.read_to_end(&mut heard).await.unwrap();
        heard
    };
    let speaks_second = async {
        let mut heard = Vec::new();
        second.read_to_end(&mut heard).await.unwrap();
        second.write_all(&data).await.unwrap();
        second.shutdown().await.unwrap();
        heard
    };
    let (at_first, at_second) = tokio::join!(speaks_first, speaks_second);
    assert!(at_first == data && at_second == data);
}

/// Both ends send and receive at once, each in two tasks.
pub async fn at_once<A, B>(a: A, b: B)
where
    A: AsyncRead + AsyncWrite + Send + 'static,
    B: AsyncRead + AsyncWrite + Send + 'static,
{
    let (a_reads, a_writes) = split(a);
    let (b_reads, b_writes) = split(b);
    let tasks = [
        tokio::spawn(speak(a_writes)),
        tokio::spawn(speak(b_writes)),
        tokio::spawn(listen(a_reads)),
        tokio::spawn(listen(b_reads)),
    ];
    for task in tasks {
        task.await.unwrap();
    }
}

async fn speak(mut writer: impl AsyncWrite + Unpin) {
    writer.write_all(&bytes(LEN)).await.unwrap();
    writer.shutdown().await.unwrap();
}

async fn listen(mut reader: impl AsyncRead + Unpin) {
    let mut heard = Vec::new();
    reader.read_to_end(&mut heard).await.unwrap();
    assert!(heard == bytes(LEN));
}

/// Much more than sockets and buffers hold.
const LEN: usize = 8 << 20;
