//! Memory of an idle connection.
//!
//! A separate program, because it measures the whole process.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod common;

use common::{bytes, destination, ends};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Returns the resident memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

/// Both ends are in this process, so it holds two streams, two tasks and two sockets per connection.
#[tokio::test]
async fn an_idle_connection_holds_little_memory() {
    const COUNT: usize = 300;
    let ends = ends();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut tasks = Vec::new();
    let mut before = 0;
    for index in 0..COUNT + 50 {
        // The first connections fill caches that the process keeps.
        if index == 50 {
            before = resident();
        }
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (far, _) = listener.accept().await.unwrap();
        let (connector, acceptor) = (ends.connector(), ends.acceptor());
        let (client, server) =
            tokio::try_join!(connector.connect(destination(), near), acceptor.accept(far)).unwrap();
        let (mut client, mut server) = (client, server);
        // They were busy; now both wait for each other.
        let data = bytes(100_000);
        let mut received = vec![0; data.len()];
        let (written, read) =
            tokio::join!(client.write_all(&data), server.read_exact(&mut received));
        written.unwrap();
        read.unwrap();
        let (written, read) =
            tokio::join!(server.write_all(&data), client.read_exact(&mut received));
        written.unwrap();
        read.unwrap();
        tasks.push(tokio::spawn(async move { client.read(&mut [0]).await.map(|_| ()) }));
        tasks.push(tokio::spawn(async move { server.read(&mut [0]).await.map(|_| ()) }));
        tokio::task::yield_now().await;
    }
    let each = (resident().saturating_sub(before)) / (2 * COUNT);
    println!("{each} bytes per idle stream");
    assert!(each < 16 * 1024, "{each} bytes per idle stream");
    for task in tasks {
        task.abort();
    }
}
