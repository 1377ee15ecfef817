//! What somebody on the path can cause with copies of flights.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tessera_proxy::logging::{self, LogFormat, LogOptions, tracing};
use tessera_tokio::EarlyData;
use tessera_tunnel::metrics::{EarlyDataVerdict, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::backends::Echo;
use crate::world::{Client, Files, Running, answer, within};

/// Passes one connection on, and gives what its client sent before the server's first answer.
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

/// A flight that was accepted.
async fn accepted(client: &Client, server: SocketAddr) -> Vec<u8> {
    client.request(server, b"first").await.unwrap();
    let (relay, recorded) = recording(server).await;
    let EarlyData::Accepted { mut stream, .. } = client.early(relay, b"pay").await else {
        panic!("not accepted")
    };
    assert_eq!(answer(&mut stream).await.unwrap(), b"pay");
    within(recorded).await.unwrap()
}

/// Sends a copy of a flight, and waits for the server's answer.
async fn copy(server: SocketAddr, flight: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(server).await.unwrap();
    socket.write_all(flight).await.unwrap();
    within(socket.read_exact(&mut [0])).await.unwrap();
    socket
}

#[tokio::test]
async fn a_copy_keeps_no_connection_of_the_backend_while_its_handshake_goes_on() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let mut section = files.server(&echo.forward());
    let server = Running::start(&section);
    let client = Client::new(&files.client());
    let flight = accepted(&client, server.address).await;

    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    section.forward = backend.local_addr().unwrap().to_string().parse().unwrap();
    server.end.reload(section).unwrap();
    let mut copies = Vec::new();
    for _ in 0..3 {
        copies.push(copy(server.address, &flight).await);
        let (mut dialled, _) = within(backend.accept()).await.unwrap();
        assert_eq!(within(dialled.read(&mut [0])).await.unwrap(), 0);
    }
    assert_eq!(server.metrics.early_data.get(EarlyDataVerdict::Used), 3);
    assert_eq!(server.metrics.connections.get(Outcome::HandshakeFailed), 0, "they go on");
}

/// Lines of a log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_copy_is_not_logged_as_its_clients_nor_without_limit() {
    let lines = Lines::default();
    let options = LogOptions::new(LogFormat::Text);
    let (log, subscriber) = logging::log_to(lines.clone(), options).unwrap();
    // A second one: where there is one alone, an event that another test's thread comes to first is off for all
    // (tracing-core's `Rebuilder::JustOne` asks that thread).
    let (_other_log, other) = logging::log_to(io::sink(), options).unwrap();
    let _other = tracing::Dispatch::new(other);
    let _guard = tracing::subscriber::set_default(subscriber);
    let (files, echo) = (Files::new(), Echo::start().await);
    let server = Running::start(&files.server(&echo.forward()));
    let client = Client::new(&files.client());
    let flight = accepted(&client, server.address).await;
    drop(copy(server.address, &flight).await);
    server.stop().await;
    log.finish();
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let of = |outcome: &str| text.lines().filter(|line| line.contains(outcome)).collect::<Vec<_>>();
    let [failed] = of("outcome=handshake_failed")[..] else { panic!("{text}") };
    assert!(failed.contains("verdict=used"), "{failed}");
    assert!(!failed.contains("identity="), "{failed}");
    let completed = of("outcome=completed");
    assert_eq!(completed.len(), 2, "{text}");
    assert!(completed.iter().all(|line| line.contains("identity=dns:client.example")), "{text}");
}
