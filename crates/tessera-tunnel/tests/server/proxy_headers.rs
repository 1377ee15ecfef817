//! PROXY headers from load balancers, and to backends.

use tessera_proxy::proxy_protocol::{Addresses, Header, HeaderLimits, read_header};
use tessera_tokio::EarlyData;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::backends::Echo;
use crate::world::{Client, Files, RunningServer, within};

/// Accepts one connection, and reads the header and everything after it.
async fn one(listener: &TcpListener) -> (Header, Vec<u8>) {
    let (mut socket, _) = within(listener.accept()).await.unwrap();
    let header = within(read_header(&mut socket, HeaderLimits::default())).await.unwrap();
    let mut rest = Vec::new();
    within(socket.read_to_end(&mut rest)).await.unwrap();
    (header, rest)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_receives_the_clients_identity_and_the_name_of_its_flight() {
    let files = Files::new();
    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut section = files.server(&backend.local_addr().unwrap().to_string());
    (section.send_proxy, section.send_proxy_identity) = (true, true);
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());

    let (answered, (header, said)) =
        tokio::join!(client.request(server.address, b"first"), one(&backend));
    answered.unwrap();
    assert_eq!(said, b"first");
    assert_eq!(header.identity.as_deref(), Some(&b"dns:client.example"[..]));
    assert_eq!(header.flight, None);
    let tls = header.tls.unwrap();
    assert!(tls.is_encrypted && tls.gave_certificate && tls.is_verified);
    let Addresses::Ip { destination, .. } = header.addresses else { panic!("no addresses") };
    assert_eq!(destination, server.address);

    let early = async {
        match client.early(server.address, b"early").await {
            EarlyData::Accepted { mut stream, flight, .. } => {
                stream.shutdown().await.unwrap();
                flight.unwrap()
            }
            other => panic!("{other:?}"),
        }
    };
    let (flight, (header, said)) = tokio::join!(early, one(&backend));
    assert_eq!(said, b"early");
    assert_eq!(header.flight.as_deref(), Some(&flight.0[..]));
    assert_eq!(header.identity.as_deref(), Some(&b"dns:client.example"[..]));
    let tls = header.tls.unwrap();
    assert!(!tls.gave_certificate && tls.gave_certificate_in_session);
}

/// The holder of a certificate may have chosen its subject.
#[tokio::test(flavor = "multi_thread")]
async fn text_in_a_subject_reads_as_no_name_at_a_backend() {
    let files = Files::new();
    files.issue_nameless("client", "x dns:admin.example");
    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut section = files.server(&backend.local_addr().unwrap().to_string());
    (section.send_proxy, section.send_proxy_identity) = (true, true);
    section.peers.names.clear();
    section.peers.any_of_ca = true;
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    let (answered, (header, _)) =
        tokio::join!(client.request(server.address, b"first"), one(&backend));
    answered.unwrap();
    let identity = String::from_utf8(header.identity.unwrap()).unwrap();
    assert!(identity.starts_with("subject:"), "{identity}");
    assert!(identity.contains(r"x\x20dns:admin.example"), "{identity}");
    assert!(identity.bytes().all(|byte| byte.is_ascii_graphic()), "{identity}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_identity_a_header_has_addresses_alone() {
    let files = Files::new();
    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut section = files.server(&backend.local_addr().unwrap().to_string());
    section.send_proxy = true;
    let server = RunningServer::start(&section);
    let client = Client::new(&files.client());
    let (answered, (header, _)) =
        tokio::join!(client.request(server.address, b"first"), one(&backend));
    answered.unwrap();
    let addresses = header.addresses.clone();
    assert!(matches!(addresses, Addresses::Ip { .. }));
    assert_eq!(header, Header { addresses, ..Header::default() });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_load_balancers_header_is_required_and_passed_on() {
    let files = Files::new();
    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut section = files.server(&backend.local_addr().unwrap().to_string());
    section.send_proxy = true;
    section.accept_proxy_from = vec!["127.0.0.0/8".parse().unwrap()];
    let server = RunningServer::start(&section);
    let addresses = Addresses::Ip {
        source: "192.0.2.7:51234".parse().unwrap(),
        destination: "198.51.100.1:5432".parse().unwrap(),
    };
    let sent = Header { addresses: addresses.clone(), ..Header::default() }.write().unwrap();
    let client = Client::new(&files.client());
    let request = async {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        socket.write_all(&sent).await.unwrap();
        let mut stream = client.over(socket).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.shutdown().await.unwrap();
    };
    let ((), (header, said)) = tokio::join!(request, one(&backend));
    assert_eq!((header.addresses, said.as_slice()), (addresses, &b"hello"[..]));

    assert!(client.connect(server.address).await.is_err());
    let mut garbage = TcpStream::connect(server.address).await.unwrap();
    garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let _ = within(garbage.read_to_end(&mut Vec::new())).await;
    let metrics = server.metrics.clone();
    server.stop().await;
    assert_eq!(metrics.refused_proxy_headers.get(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_from_elsewhere_is_no_client() {
    let (files, echo) = (Files::new(), Echo::start().await);
    let server = RunningServer::start(&files.server(&echo.forward()));
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(&Header::default().write().unwrap()).await.unwrap();
    assert!(Client::new(&files.client()).over(socket).await.is_err());
    server.stop().await;
    assert!(echo.seen().is_empty());
}
