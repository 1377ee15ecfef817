//! With tessera-tokio on AWS-LC and with rustls at the other end, over sockets, in both roles.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use embedded_io::{Read, Write};
use embedded_io_adapters::std::FromStd;
use embedded_io_adapters::tokio_1::FromTokio;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_embedded::TlsStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::ends::{
    Memory, Pki, acceptor, by_chain, by_psk, connector, device, psk, psk_client, psk_server,
};

/// More than a record, and than both ends' buffers.
const LEN: usize = 100_000;

fn bytes() -> Vec<u8> {
    (0..LEN).map(|at| (at / 7) as u8).collect()
}

fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

fn in_runtime<F: Future>(run: impl FnOnce() -> F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { run().await })
}

/// Sends and receives at once as much as the peer does, then closes and waits for the peer's end.
fn exchange<IO: Read + Write, H: tessera::handshake::Handshake>(
    mut stream: TlsStream<'_, IO, H>,
    sends_first: bool,
) {
    let mut received = vec![0; LEN];
    if sends_first {
        stream.write_all(&bytes()).unwrap();
    }
    stream.read_exact(&mut received).unwrap();
    assert!(received == bytes());
    if !sends_first {
        stream.write_all(&bytes()).unwrap();
    }
    stream.close_blocking().unwrap();
    assert_eq!(stream.read(&mut received).unwrap(), 0);
}

/// The other end: reads all, sends all, closes.
async fn echo<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(mut stream: S) {
    let mut received = vec![0; LEN];
    stream.read_exact(&mut received).await.unwrap();
    assert!(received == bytes());
    stream.write_all(&received).await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(stream.read(&mut received).await.unwrap(), 0);
}

fn client_of(client: ClientConfig, server: ServerConfig, destination: Destination) {
    let (device_end, peer_end) = sockets();
    let peer = thread::spawn(move || {
        in_runtime(|| async {
            peer_end.set_nonblocking(true).unwrap();
            let socket = tokio::net::TcpStream::from_std(peer_end).unwrap();
            let acceptor = tessera_tokio::Acceptor::new(server.checked().unwrap());
            echo(acceptor.accept(socket).await.unwrap()).await;
        });
    });
    let mut memory = Memory::new();
    let connector = connector(client);
    let io = FromStd::new(device_end);
    let stream = connector.connect_blocking(destination, io, memory.lend()).unwrap();
    assert!(stream.is_handshake_complete() && stream.deadline().is_none());
    exchange(stream, true);
    peer.join().unwrap();
    let wiped = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    assert!(wiped(&memory.input) && wiped(&memory.output));
}

#[test]
fn a_client_by_psk_exchanges_more_than_records() {
    let pki = Pki::new();
    client_of(psk_client(&pki), psk_server(), by_psk());
}

#[test]
fn a_client_by_chain_agrees_in_each_suite_and_group() {
    let pki = Pki::new();
    for group in device().groups {
        for suite in device().suites {
            let mut client = pki.device_client();
            client.groups = vec![group.group()];
            client.suites = vec![suite.id];
            client_of(client, pki.server(), by_chain());
        }
    }
}

fn server_of(mut client: ClientConfig, server: ServerConfig, destination: Destination) {
    // Otherwise the server must not send its own (RFC 8449 §5).
    client.record_size_limit = Some(16_385);
    let (peer_end, device_end) = sockets();
    let peer = thread::spawn(move || {
        in_runtime(|| async {
            peer_end.set_nonblocking(true).unwrap();
            let socket = tokio::net::TcpStream::from_std(peer_end).unwrap();
            let connector = tessera_tokio::Connector::new(client.checked().unwrap());
            let mut stream = connector.connect(destination, socket).await.unwrap();
            stream.write_all(&bytes()).await.unwrap();
            let mut received = vec![0; LEN];
            stream.read_exact(&mut received).await.unwrap();
            assert!(received == bytes());
            stream.shutdown().await.unwrap();
            assert_eq!(stream.read(&mut received).await.unwrap(), 0);
        });
    });
    let mut memory = Memory::new();
    let io = FromStd::new(device_end);
    let stream = acceptor(server).accept_blocking(io, memory.lend()).unwrap();
    exchange(stream, false);
    peer.join().unwrap();
}

#[test]
fn a_server_by_psk_and_by_chain_exchanges_more_than_records() {
    let pki = Pki::new();
    let mut server = pki.device_server();
    server.external_psks = vec![psk()];
    let mut client = pki.client();
    client.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    server_of(client, server, by_psk());
    for group in [NamedGroup::X25519, NamedGroup::X25519MLKEM768] {
        let mut client = pki.client();
        client.groups = vec![group];
        server_of(client, pki.device_server(), by_chain());
    }
}

/// Futures, over pipes that hold less than a record.
#[test]
fn both_ends_are_devices_over_short_pipes() {
    let pki = Pki::new();
    in_runtime(|| async {
        let (client_end, server_end) = tokio::io::duplex(100);
        let (mut client_memory, mut server_memory) = (Memory::new(), Memory::new());
        let acceptor = acceptor(pki.device_server());
        let connector = connector(pki.device_client());
        let server = async {
            use embedded_io_async::{Read, Write};
            let io = FromTokio::new(server_end);
            let mut stream = acceptor.accept(io, server_memory.lend()).await.unwrap();
            let mut received = vec![0; LEN];
            stream.read_exact(&mut received).await.unwrap();
            stream.write_all(&received).await.unwrap();
            stream.close().await.unwrap();
            assert_eq!(stream.read(&mut received).await.unwrap(), 0);
        };
        let client = async {
            use embedded_io_async::{Read, Write};
            let io = FromTokio::new(client_end);
            let mut stream = connector.connect(by_chain(), io, client_memory.lend()).await.unwrap();
            stream.write_all(&bytes()).await.unwrap();
            let mut received = vec![0; LEN];
            // Without a flush: a read sends what waits.
            stream.read_exact(&mut received).await.unwrap();
            assert!(received == bytes());
            stream.close().await.unwrap();
            assert_eq!(stream.read(&mut received).await.unwrap(), 0);
        };
        tokio::join!(server, client);
    });
}

fn rustls_server(pki: &Pki) -> rustls::ServerConnection {
    let chain = pki.leaf.chain.iter().map(|der| der.clone().into()).collect();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(pki.leaf.key_der());
    let config = rustls::ServerConfig::builder_with_protocol_versions(&[&rustls::version::TLS13])
        .with_no_client_auth()
        .with_single_cert(chain, key.into())
        .unwrap();
    rustls::ServerConnection::new(Arc::new(config)).unwrap()
}

/// rustls knows no record_size_limit: its answer must be short.
#[test]
fn a_client_talks_to_rustls() {
    let pki = Pki::new();
    let (device_end, mut peer_end) = sockets();
    let mut server = rustls_server(&pki);
    let peer = thread::spawn(move || {
        let mut stream = rustls::Stream::new(&mut server, &mut peer_end);
        let mut received = vec![0; LEN];
        stream.read_exact(&mut received).unwrap();
        assert!(received == bytes());
        stream.write_all(&received[..1000]).unwrap();
        server.send_close_notify();
        server.complete_io(&mut peer_end).unwrap();
    });
    let mut memory = Memory::new();
    let connector = connector(pki.device_client());
    let io = FromStd::new(device_end);
    let mut stream = connector.connect_blocking(by_chain(), io, memory.lend()).unwrap();
    stream.write_all(&bytes()).unwrap();
    let mut received = vec![0; 1000];
    stream.read_exact(&mut received).unwrap();
    assert!(received == bytes()[..1000]);
    assert_eq!(stream.read(&mut received).unwrap(), 0);
    stream.close_blocking().unwrap();
    peer.join().unwrap();
}

/// And its records of 16 KiB are refused by a number.
#[test]
fn a_peer_that_ignores_the_limit_is_refused() {
    let pki = Pki::new();
    let (device_end, mut peer_end) = sockets();
    let mut server = rustls_server(&pki);
    let peer = thread::spawn(move || {
        let mut stream = rustls::Stream::new(&mut server, &mut peer_end);
        stream.write_all(&bytes()).unwrap();
        stream.read_exact(&mut [0]).unwrap_err().to_string()
    });
    let mut memory = Memory::new();
    let connector = connector(pki.device_client());
    let io = FromStd::new(device_end);
    let mut stream = connector.connect_blocking(by_chain(), io, memory.lend()).unwrap();
    let error = stream.read(&mut [0; 100]).unwrap_err();
    let missing = 5 + 16_384 + 1 + 16 - memory_len();
    let words =
        format!("the input buffer lacks {missing} bytes: lengthen it, or lower record_size_limit");
    assert_eq!(error.to_string(), words);
    // A socket that is closed with unread bytes is reset, and the alert would be lost.
    let mut socket = stream.into_inner().into_inner();
    socket.shutdown(Shutdown::Write).unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
    let reason = peer.join().unwrap();
    assert!(reason.contains("RecordOverflow"), "{reason}");
}

fn memory_len() -> usize {
    Memory::new().input.len()
}

#[test]
fn a_server_talks_to_rustls() {
    let pki = Pki::new();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(pki.root.der().into()).unwrap();
    let config = rustls::ClientConfig::builder_with_protocol_versions(&[&rustls::version::TLS13])
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(crate::ends::SERVER_NAME).unwrap();
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let (mut peer_end, device_end) = sockets();
    let peer = thread::spawn(move || {
        let mut stream = rustls::Stream::new(&mut client, &mut peer_end);
        stream.write_all(&bytes()[..1000]).unwrap();
        let mut received = vec![0; LEN];
        stream.read_exact(&mut received).unwrap();
        assert!(received == bytes());
    });
    let mut memory = Memory::new();
    let io = FromStd::new(device_end);
    let mut stream = acceptor(pki.device_server()).accept_blocking(io, memory.lend()).unwrap();
    let mut received = vec![0; 1000];
    stream.read_exact(&mut received).unwrap();
    assert!(received == bytes()[..1000]);
    stream.write_all(&bytes()).unwrap();
    stream.flush().unwrap();
    peer.join().unwrap();
}
