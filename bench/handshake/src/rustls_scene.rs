//! The same connections by rustls on AWS-LC.

use std::sync::Arc;

use rustls::client::ClientConnection;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ServerConnection, WebPkiClientVerifier};
use rustls::{ClientConfig, HandshakeKind, RootCertStore, ServerConfig, version};
use tessera_interop::{Identity, KeyKind, SERVER_NAME};

use crate::cost::{Cost, End, Meter, Timer};
use crate::scene::{REQUEST, pki};
use crate::ways::RustlsWay;

/// A client and a server of rustls.
pub struct RustlsScene {
    way: RustlsWay,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl RustlsScene {
    /// Uses AES-128-GCM, the group of the way, and sealed tickets, one per connection, like the compared ways.
    #[must_use]
    pub fn new(way: RustlsWay) -> Self {
        let group = match way {
            RustlsWay::FullX25519 | RustlsWay::MutualX25519 | RustlsWay::ResumedX25519 => {
                aws_lc_rs::kx_group::X25519
            }
            RustlsWay::FullHybrid | RustlsWay::ResumedHybrid => aws_lc_rs::kx_group::X25519MLKEM768,
        };
        let provider = Arc::new(CryptoProvider {
            cipher_suites: vec![aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256],
            kx_groups: vec![group],
            ..aws_lc_rs::default_provider()
        });
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(pki().root())).expect("a root");
        let roots = Arc::new(roots);
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&version::TLS13])
            .expect("TLS 1.3")
            .with_root_certificates(roots.clone());
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&version::TLS13])
            .expect("TLS 1.3");
        let (mut client, server) = match way {
            RustlsWay::MutualX25519 => {
                let (chain, key) = parts(&pki().client(KeyKind::P256));
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
                (
                    client.with_client_auth_cert(chain, key).expect("its certificate"),
                    server.with_client_cert_verifier(verifier.expect("a root")),
                )
            }
            _ => (client.with_no_client_auth(), server.with_no_client_auth()),
        };
        if !way.resumes() {
            client.resumption = rustls::client::Resumption::disabled();
        }
        let (chain, key) = parts(&pki().server(KeyKind::P256));
        let mut server = server.with_single_cert(chain, key).expect("its certificate");
        server.ticketer = aws_lc_rs::Ticketer::new().expect("random bytes");
        server.send_tls13_tickets = 1;
        Self { way, client: Arc::new(client), server: Arc::new(server) }
    }

    /// Returns the average cost of a connection; of those that resume, each resumes the one before.
    pub fn round(&self, handshakes: usize) -> Cost {
        let mut timer = Timer::new();
        self.connect(&mut timer);
        timer.cost = Cost::default();
        for _ in 0..handshakes {
            let is_resumed = self.connect(&mut timer) == Some(HandshakeKind::Resumed);
            assert_eq!(is_resumed, self.way.resumes());
        }
        timer.cost.per_connection(handshakes)
    }

    fn connect(&self, meter: &mut impl Meter) -> Option<HandshakeKind> {
        let name = ServerName::try_from(SERVER_NAME).expect("a name");
        let mut client = meter
            .run(End::Client, || ClientConnection::new(self.client.clone(), name).expect("starts"));
        let mut server =
            meter.run(End::Server, || ServerConnection::new(self.server.clone()).expect("starts"));
        let mut received = [0; REQUEST.len()];
        let (mut is_written, mut is_received) = (false, false);
        while client.wants_write() || server.wants_write() {
            let to_server = meter.run(End::Client, || {
                let mut to_server = Vec::new();
                while client.wants_write() {
                    client.write_tls(&mut to_server).expect("writes");
                }
                to_server
            });
            let to_client = meter.run(End::Server, || {
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
                to_client
            });
            meter.run(End::Client, || {
                let mut unread = to_client.as_slice();
                while !unread.is_empty() {
                    client.read_tls(&mut unread).expect("reads");
                    client.process_new_packets().expect("is well");
                }
                if !client.is_handshaking() && !is_written {
                    std::io::Write::write_all(&mut client.writer(), REQUEST).expect("takes data");
                    is_written = true;
                }
            });
        }
        assert!(is_received && received == *REQUEST, "the request is there");
        let kind = server.handshake_kind();
        meter.run(End::Server, || drop(server));
        meter.run(End::Client, || drop(client));
        kind
    }
}

fn parts(identity: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = identity.chain.iter().cloned().map(CertificateDer::from).collect();
    (chain, PrivateKeyDer::try_from(identity.key.clone()).expect("a key"))
}
