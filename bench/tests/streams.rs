//! The memory of streams on tokio: no allocation per record, and little memory while they are idle.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use tessera_interop::{KeyKind, Pki};
use tessera_tokio::{Acceptor, ClientStream, Connector, ServerStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// Both ends, for connections over loopback.
struct Ends(Connector, Acceptor);

impl Ends {
    fn new() -> Self {
        let pki = Pki::new();
        let server = tessera_interop::server(&pki.server(KeyKind::P256));
        let client = tessera_interop::client(&pki);
        let (client, server) = (client.checked().unwrap(), server.checked().unwrap());
        Self(Connector::new(client), Acceptor::new(server))
    }

    async fn connect(&self) -> (ClientStream<TcpStream>, ServerStream<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (far, _) = listener.accept().await.unwrap();
        let to = tessera_interop::to(None);
        tokio::try_join!(self.0.connect(to, near), self.1.accept(far)).unwrap()
    }
}

/// Runs on this thread alone, whose allocations are counted.
fn runtime() -> tokio::runtime::Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// While data comes and goes, the buffers are reused. The sockets' buffers hold a round.
#[test]
fn streams_allocate_nothing_per_record() {
    let runtime = runtime();
    let (mut client, mut server) = runtime.block_on(Ends::new().connect());
    let data = vec![7; 100_000];
    let mut received = vec![0; data.len()];
    let mut rounds = |count| {
        runtime.block_on(async {
            for _ in 0..count {
                let (written, read) =
                    tokio::join!(client.write_all(&data), server.read_exact(&mut received));
                written.unwrap();
                read.unwrap();
            }
        });
    };
    rounds(10);
    let counted = allocation_counter::measure(|| rounds(40));
    let records = 40 * data.len().div_ceil(16 * 1024);
    assert_eq!(counted.count_total, 0, "allocations by {records} records: {counted:?}");
}

/// Connections that were used, and whose readers wait all the time.
#[test]
fn an_idle_stream_holds_little() {
    const COUNT: usize = 20;
    let runtime = runtime();
    let ends = Ends::new();
    let data = vec![7; 100_000];
    let mut streams = Vec::with_capacity(100);
    let mut open = |count| {
        runtime.block_on(async {
            for _ in 0..count {
                let (client, server) = ends.connect().await;
                let (client_reads, mut client_writes) = client.split();
                let (server_reads, mut server_writes) = server.split();
                tokio::spawn(wait(client_reads));
                tokio::spawn(wait(server_reads));
                client_writes.write_all(&data).await.unwrap();
                client_writes.flush().await.unwrap();
                server_writes.write_all(&data).await.unwrap();
                server_writes.flush().await.unwrap();
                streams.push((client_writes, server_writes));
            }
            // Until the readers have read it all.
            tokio::time::sleep(Duration::from_millis(100)).await;
        });
    };
    open(5);
    let counted = allocation_counter::measure(|| open(COUNT));
    let each = counted.bytes_current / (2 * COUNT as i64);
    println!("{each} bytes of heap per idle stream, its reader's task included");
    assert!((1..6 * 1024).contains(&each), "{each} bytes per idle stream");
}

async fn wait(mut reader: impl AsyncRead + Unpin) {
    while reader.read(&mut [0; 256]).await.is_ok_and(|count| count > 0) {}
}
