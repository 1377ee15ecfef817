//! The same connections by rustls on AWS-LC: resumed with a ticket and X25519MLKEM768.

use std::sync::Arc;

use rustls::client::ClientConnection;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ServerConnection;
use rustls::{ClientConfig, HandshakeKind, NamedGroup, RootCertStore, ServerConfig, version};
use tessera_interop::{KeyKind, Pki, SERVER_NAME};

use crate::ways::{Cost, REQUEST, thread_time};

/// A client and a server of rustls.
pub struct ResumedByRustls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Default for ResumedByRustls {
    fn default() -> Self {
        Self::new()
    }
}

impl ResumedByRustls {
    /// Uses AES-128-GCM, X25519MLKEM768, and sealed tickets, one per connection, like the compared ways.
    pub fn new() -> Self {
        let provider = Arc::new(CryptoProvider {
            cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256],
            kx_groups: vec![aws_lc_rs::kx_group::X25519MLKEM768],
            ..aws_lc_rs::default_provider()
        });
        let pki = Pki::new();
        let identity = pki.server(KeyKind::P256);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(pki.root())).expect("a root");
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&version::TLS13])
            .expect("TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let chain = identity.chain.iter().cloned().map(CertificateDer::from).collect();
        let key = PrivateKeyDer::try_from(identity.key.clone()).expect("a key");
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])
            .expect("TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("its certificate");
        server.ticketer = aws_lc_rs::Ticketer::new().expect("random bytes");
        server.send_tls13_tickets = 1;
        Self { client: Arc::new(client), server: Arc::new(server) }
    }

    /// Returns the average cost of a connection; each resumes the one before.
    pub fn round(&self, handshakes: usize) -> Cost {
        self.connect();
        let mut total = Cost::default();
        for _ in 0..handshakes {
            let (cost, kind) = self.connect();
            assert_eq!(kind, Some(HandshakeKind::Resumed));
            total.client += cost.client;
            total.server += cost.server;
        }
        let handshakes = u32::try_from(handshakes).unwrap_or(u32::MAX);
        Cost { client: total.client / handshakes, server: total.server / handshakes }
    }

    fn connect(&self) -> (Cost, Option<HandshakeKind>) {
        let name = ServerName::try_from(SERVER_NAME).expect("a name");
        let mut cost = Cost::default();
        let began = thread_time();
        let mut client = ClientConnection::new(self.client.clone(), name).expect("starts");
        cost.client += thread_time() - began;
        let began = thread_time();
        let mut server = ServerConnection::new(self.server.clone()).expect("starts");
        cost.server += thread_time() - began;
        let mut received = [0; REQUEST.len()];
        let (mut is_written, mut is_received) = (false, false);
        while client.wants_write() || server.wants_write() {
            let began = thread_time();
            let mut to_server = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut to_server).expect("writes");
            }
            cost.client += thread_time() - began;
            let began = thread_time();
            let mut unread = to_server.as_slice();
            while !unread.is_empty() {
                server.read_tls(&mut unread).expect("reads");
                server.process_new_packets().expect("is well");
            }
            if !server.is_handshaking() {
                let mut reader = server.reader();
                is_received |= std::io::Read::read_exact(&mut reader, &mut received).is_ok();
            }
            let mut to_client = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut to_client).expect("writes");
            }
            cost.server += thread_time() - began;
            let began = thread_time();
            let mut unread = to_client.as_slice();
            while !unread.is_empty() {
                client.read_tls(&mut unread).expect("reads");
                client.process_new_packets().expect("is well");
            }
            if !client.is_handshaking() && !is_written {
                std::io::Write::write_all(&mut client.writer(), REQUEST).expect("takes data");
                is_written = true;
            }
            cost.client += thread_time() - began;
        }
        assert!(is_received && received == *REQUEST, "the request is there");
        let group = client.negotiated_key_exchange_group().map(|group| group.name());
        assert_eq!(group, Some(NamedGroup::X25519MLKEM768));
        let kind = server.handshake_kind();
        let began = thread_time();
        drop(server);
        cost.server += thread_time() - began;
        let began = thread_time();
        drop(client);
        cost.client += thread_time() - began;
        (cost, kind)
    }
}
