//! tokio-rustls as the peer.

use std::io::ErrorKind;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, HandshakeKind, RootCertStore, ServerConfig};
use tessera::resume::PskKind;
use tessera_interop::{SERVER_NAME, to};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::World;
use crate::talk::{at_once, in_turn, sockets};

impl World {
    fn rustls_acceptor(&self) -> TlsAcceptor {
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
        let chain = self.identity.chain.iter().cloned().map(CertificateDer::from).collect();
        let key = PrivateKeyDer::Pkcs8(self.identity.key.clone().into());
        Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap()).into()
    }

    fn rustls_connector(&self) -> TlsConnector {
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.pki.root())).unwrap();
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth()).into()
    }
}

fn name() -> ServerName<'static> {
    ServerName::try_from(SERVER_NAME).unwrap()
}

fn psk(resumed: bool) -> Option<PskKind> {
    resumed.then_some(PskKind::Resumption)
}

fn is_resumption(kind: Option<HandshakeKind>) -> bool {
    kind == Some(HandshakeKind::Resumed)
}

#[tokio::test]
async fn a_rustls_server_is_resumed_and_either_side_closes_first() {
    let world = World::new();
    let acceptor = world.rustls_acceptor();
    // The client stores its sessions when it closes, with all tickets read if it closes last.
    for (resumed, client_closes_first) in [(false, false), (true, false), (true, true)] {
        let (near, far) = sockets().await;
        let (client, server) =
            tokio::try_join!(world.connector.connect(to(None), near), acceptor.accept(far))
                .unwrap();
        assert_eq!(client.facts().psk, psk(resumed));
        assert_eq!(is_resumption(server.get_ref().1.handshake_kind()), resumed);
        match client_closes_first {
            true => in_turn(client, server).await,
            false => in_turn(server, client).await,
        }
    }
}

#[tokio::test]
async fn a_rustls_client_resumes_and_either_side_closes_first() {
    let world = World::new();
    let connector = world.rustls_connector();
    for (resumed, client_closes_first) in [(false, false), (true, false), (true, true)] {
        let (near, far) = sockets().await;
        let (client, server) =
            tokio::try_join!(connector.connect(name(), near), world.acceptor.accept(far)).unwrap();
        assert_eq!(server.facts().psk, psk(resumed));
        assert_eq!(is_resumption(client.get_ref().1.handshake_kind()), resumed);
        match client_closes_first {
            true => in_turn(client, server).await,
            false => in_turn(server, client).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_to_and_from_tokio_rustls_carry_much_data_both_ways_at_once() {
    let world = World::new();
    let (near, far) = sockets().await;
    let acceptor = world.rustls_acceptor();
    let (client, server) =
        tokio::try_join!(world.connector.connect(to(None), near), acceptor.accept(far)).unwrap();
    at_once(client, server).await;

    let (near, far) = sockets().await;
    let connector = world.rustls_connector();
    let (client, server) =
        tokio::try_join!(connector.connect(name(), near), world.acceptor.accept(far)).unwrap();
    at_once(client, server).await;
}

/// RFC 9266: `tls-exporter`, as rustls exports it.
#[tokio::test]
async fn a_stream_and_tokio_rustls_export_the_same_channel_binding() {
    let world = World::new();
    let (near, far) = sockets().await;
    let acceptor = world.rustls_acceptor();
    let (mut client, server) =
        tokio::try_join!(world.connector.connect(to(None), near), acceptor.accept(far)).unwrap();
    let export = |binding| {
        let connection = server.get_ref().1;
        connection.export_keying_material(binding, b"EXPORTER-Channel-Binding", Some(b"")).unwrap()
    };
    assert_eq!(client.channel_binding().unwrap(), export([0; 32]));
}

/// Either stack detects a peer that disappears without close_notify.
#[tokio::test]
async fn a_peer_that_vanishes_without_close_notify_is_noticed_by_either_stack() {
    let world = World::new();
    let acceptor = world.rustls_acceptor();
    for tessera_vanishes in [true, false] {
        let (near, far) = sockets().await;
        let (mut client, mut server) =
            tokio::try_join!(world.connector.connect(to(None), near), acceptor.accept(far))
                .unwrap();
        // With unread tickets in its buffer a socket is reset, not closed.
        server.write_all(b"x").await.unwrap();
        client.read_exact(&mut [0]).await.unwrap();
        let error = if tessera_vanishes {
            drop(client);
            server.read_to_end(&mut Vec::new()).await.unwrap_err()
        } else {
            drop(server);
            client.read_to_end(&mut Vec::new()).await.unwrap_err()
        };
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
    }
}
