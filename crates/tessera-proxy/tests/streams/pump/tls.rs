//! Two pumps with TLS between them: a tunnel.

use tessera_interop::{KeyKind, Pki};
use tessera_proxy::pump::{End, PumpOperation, PumpSummary, Side, pump};
use tessera_tokio::{Acceptor, Connector};
use tokio::io::{AsyncReadExt, AsyncWriteExt, split};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::peer::tcp_pair;

/// A client and a server at the ends of a tunnel, and the tunnel's own ends. Each resets its plain side if the pump
/// failed, and drops both.
async fn tunnel() -> (TcpStream, TcpStream, JoinHandle<PumpSummary>, JoinHandle<PumpSummary>) {
    let pki = Pki::new();
    let connector = Connector::new(tessera_interop::client(&pki).checked().unwrap());
    let identity = pki.server(KeyKind::P256);
    let acceptor = Acceptor::new(tessera_interop::server(&identity).checked().unwrap());
    let (client, mut local) = tcp_pair().await;
    let (near, far) = tcp_pair().await;
    let (mut backend, server) = tcp_pair().await;
    let client_end = tokio::spawn(async move {
        let destination = tessera_interop::to(None);
        let mut stream = connector.first_flight(destination, near).await.unwrap();
        ended(pump(&mut local, &mut stream).await, &local)
    });
    let server_end = tokio::spawn(async move {
        let mut stream = acceptor.accept(far).await.unwrap();
        ended(pump(&mut stream, &mut backend).await, &backend)
    });
    (client, server, client_end, server_end)
}

fn ended(pumped: PumpSummary, plain: &TcpStream) -> PumpSummary {
    if let End::Failed { .. } = pumped.end {
        plain.set_zero_linger().unwrap();
    }
    pumped
}

#[tokio::test]
async fn a_tunnel_carries_both_directions_at_once_and_their_ends() {
    let (client, server, client_end, server_end) = tunnel().await;
    let stream: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_be_bytes).collect();
    let (mut from_client, mut to_client) = split(server);
    let (mut from_server, mut to_server) = split(client);
    let (sent, answer) = (stream.clone(), stream[1..].to_vec());
    let writing = tokio::spawn(async move {
        to_server.write_all(&sent).await.unwrap();
        to_server.shutdown().await.unwrap();
    });
    let answering = tokio::spawn(async move {
        to_client.write_all(&answer).await.unwrap();
        to_client
    });
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let (question, ()) = tokio::join!(from_client.read_to_end(&mut there), async {
        // The client has already ended its direction when the last of this arrives.
        let mut to_client = answering.await.unwrap();
        to_client.shutdown().await.unwrap();
    });
    question.unwrap();
    let _: usize = from_server.read_to_end(&mut back).await.unwrap();
    assert!(there == stream && back == stream[1..]);
    writing.await.unwrap();
    let (client_end, server_end) = (client_end.await.unwrap(), server_end.await.unwrap());
    for pumped in [&client_end, &server_end] {
        assert_eq!((pumped.a_to_b, pumped.b_to_a), (12_000_000, 11_999_999));
        assert!(matches!(pumped.end, End::Closed { .. }), "{pumped:?}");
    }
}

/// A reset of either side doesn't look like a regular end at the other.
#[tokio::test]
async fn a_reset_goes_through_a_tunnel_either_way() {
    for resets in [Side::A, Side::B] {
        let (mut client, mut server, client_end, server_end) = tunnel().await;
        client.write_all(b"hello").await.unwrap();
        server.read_exact(&mut [0; 5]).await.unwrap();
        server.write_all(b"hello").await.unwrap();
        client.read_exact(&mut [0; 5]).await.unwrap();
        let mut stays = match resets {
            Side::A => {
                client.set_zero_linger().unwrap();
                drop(client);
                server
            }
            Side::B => {
                server.set_zero_linger().unwrap();
                drop(server);
                client
            }
        };
        let error = stays.read(&mut [0]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        for pumped in [client_end.await.unwrap(), server_end.await.unwrap()] {
            let End::Failed { side, doing: PumpOperation::Reading, .. } = pumped.end else {
                panic!("{pumped:?}");
            };
            assert_eq!(side, resets);
        }
    }
}
