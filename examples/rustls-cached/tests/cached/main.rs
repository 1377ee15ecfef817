//! An unmodified rustls at both ends.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use rustls::compress::{CertCompressor, CompressionFailed, CompressionLevel};
use rustls::{AlertDescription, CertificateCompressionAlgorithm, ClientConfig, ServerConfig};
use rustls::{Error, PeerMisbehaved};
use tessera_rustls_cached::{
    CachedChains, Certificates, Chain, Destination, Ends, KeyKind, SERVER_NAME, connect,
};

mod staples;

/// A client and a server with their caches.
struct World {
    certificates: Certificates,
    client: CachedChains,
    server: CachedChains,
}

/// How the certificates of a handshake travelled.
#[derive(Debug, PartialEq, Eq)]
struct CertificateForms {
    servers: Form,
    clients: Form,
}

#[derive(Debug, PartialEq, Eq)]
enum Form {
    Whole,
    Hash,
}
use Form::{Hash, Whole};

impl World {
    fn new() -> Self {
        Self::with(KeyKind::P256)
    }

    fn with(kind: KeyKind) -> Self {
        let certificates = Certificates::new(kind).unwrap();
        Self { certificates, client: CachedChains::new(), server: CachedChains::new() }
    }

    fn to(&self) -> Destination {
        Destination::new(SERVER_NAME, 443, &self.certificates.client().unwrap())
    }

    fn client_config(&self) -> ClientConfig {
        let config = self.certificates.client().unwrap();
        self.client.client_config(&config, &self.to(), self.certificates.client_chain())
    }

    fn server_config(&self) -> ServerConfig {
        let config = self.certificates.server(b"").unwrap();
        self.server.server_config(&config, self.certificates.server_chain())
    }

    /// Makes a complete handshake, from which both ends learn.
    #[track_caller]
    fn meet(&self) -> (CertificateForms, Ends) {
        self.meet_with(self.client_config(), self.server_config())
    }

    #[track_caller]
    fn meet_with(&self, client: ClientConfig, server: ServerConfig) -> (CertificateForms, Ends) {
        let before = (self.client.restored(), self.server.restored());
        let ends = connect(Arc::new(client), Arc::new(server)).unwrap().complete().unwrap();
        self.client.learn_server(&self.to(), &ends.client.connection);
        self.server.learn_client(&ends.server.connection);
        let form = |before, after| if after > before { Hash } else { Whole };
        let came = CertificateForms {
            servers: form(before.0, self.client.restored()),
            clients: form(before.1, self.server.restored()),
        };
        (came, ends)
    }

    /// Makes a handshake that fails; returns the errors of both ends.
    #[track_caller]
    fn fail(&self, client: ClientConfig, server: ServerConfig) -> (Option<Error>, Option<Error>) {
        let ends = connect(Arc::new(client), Arc::new(server)).unwrap();
        // Nothing is learned of it.
        self.client.learn_server(&self.to(), &ends.client.connection);
        self.server.learn_client(&ends.server.connection);
        (tls(ends.client.error), tls(ends.server.error))
    }
}

fn tls(error: Option<std::io::Error>) -> Option<Error> {
    error.map(|error| match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => panic!("{error}"),
    })
}

#[test]
fn each_chain_travels_once() {
    let world = World::new();
    assert_eq!(world.meet().0, CertificateForms { servers: Whole, clients: Whole });
    for _ in 0..3 {
        let (came, ends) = world.meet();
        assert_eq!(came, CertificateForms { servers: Hash, clients: Hash });
        let chain = ends.client.connection.peer_certificates().unwrap();
        assert_eq!(chain, world.certificates.server_chain());
        let chain = ends.server.connection.peer_certificates().unwrap();
        assert_eq!(chain, world.certificates.client_chain());
    }
}

#[test]
fn the_second_handshake_takes_a_quarter_to_a_third_of_the_first() {
    for kind in KeyKind::ALL {
        let world = World::with(kind);
        let [first, second] = [world.meet(), world.meet()].map(|it| it.1.bytes.total());
        let ratio = second as f64 / first as f64;
        assert!(ratio <= kind.aim(), "{kind:?}: {second} of {first} bytes, {ratio:.3}");
        assert!(second > 600, "{kind:?}: two signatures can't fit in {second} bytes");
    }
}

#[test]
fn a_handshake_with_empty_caches_has_no_byte_more() {
    // Its signatures have one length.
    let world = World::with(KeyKind::Rsa2048);
    let plain = (world.certificates.client().unwrap(), world.certificates.server(b"").unwrap());
    let plain = connect(Arc::new(plain.0), Arc::new(plain.1)).unwrap().complete().unwrap();
    assert_eq!(world.meet().1.bytes, plain.bytes);
}

#[test]
fn a_peer_without_a_cache_is_sent_whole_chains() {
    let world = World::new();
    world.meet();
    let plain = world.certificates.server(b"").unwrap();
    let (came, ends) = world.meet_with(world.client_config(), plain);
    assert_eq!(came, CertificateForms { servers: Whole, clients: Whole });
    assert!(ends.bytes.total() > 2_000, "{:?}", ends.bytes);
    let plain = world.certificates.client().unwrap();
    let (came, _) = world.meet_with(plain, world.server_config());
    assert_eq!(came, CertificateForms { servers: Whole, clients: Whole });
}

#[test]
fn a_new_chain_of_the_server_travels_whole_once() {
    let mut world = World::new();
    world.meet();
    world.certificates.rotate_server().unwrap();
    assert_eq!(world.meet().0, CertificateForms { servers: Whole, clients: Hash });
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Hash });
}

#[test]
fn offers_in_vain_take_a_few_bytes() {
    let mut world = World::new();
    let (_, first) = world.meet();
    world.certificates.rotate_server().unwrap();
    world.certificates.rotate_client().unwrap();
    let (came, ends) = world.meet();
    assert_eq!(came, CertificateForms { servers: Whole, clients: Whole });
    // An extension with one id each way: 14 bytes. ECDSA signatures differ by a few.
    let (first, missed) = (first.bytes.total(), ends.bytes.total());
    assert!(missed <= first + 40, "{first} bytes at first, {missed} with offers in vain");
}

#[test]
fn a_new_chain_of_the_client_travels_whole_once() {
    let mut world = World::new();
    world.meet();
    world.certificates.rotate_client().unwrap();
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Whole });
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Hash });
}

#[test]
fn a_client_that_was_restarted_is_sent_the_chain_again() {
    let mut world = World::new();
    world.meet();
    world.client = CachedChains::new();
    assert_eq!(world.meet().0, CertificateForms { servers: Whole, clients: Hash });
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Hash });
}

#[test]
fn a_server_that_was_restarted_is_sent_the_chain_again() {
    let mut world = World::new();
    world.meet();
    world.server = CachedChains::new();
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Whole });
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Hash });
}

#[test]
fn entries_of_one_destination_are_offered_at_no_other() {
    let world = World::new();
    world.meet();
    let config = world.certificates.client().unwrap();
    let own = world.certificates.client_chain();
    let mut with_protocol = config.clone();
    with_protocol.alpn_protocols = vec![b"h2".to_vec()];
    for (to, known) in [
        (world.to(), 1),
        (Destination::new(SERVER_NAME, 8443, &config), 0),
        (Destination::new("other.example", 443, &config), 0),
        (Destination::new(SERVER_NAME, 443, &with_protocol), 0),
    ] {
        let config = world.client.client_config(&config, &to, own);
        assert_eq!(config.cert_decompressors.len(), known, "{to:?}");
    }
}

#[test]
fn a_server_finds_its_chain_among_ids_that_it_does_not_know() {
    let mut world = World::new();
    for _ in 0..6 {
        world.meet();
        world.certificates.rotate_server().unwrap();
    }
    assert_eq!(world.client_config().cert_decompressors.len(), 4);
    assert_eq!(world.meet().0, CertificateForms { servers: Whole, clients: Hash });
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Hash });
}

/// Claims that its chain is the one with this hash.
#[derive(Debug)]
struct Liar {
    id: u16,
    content: Vec<u8>,
}

impl Liar {
    fn about(chain: &[rustls::pki_types::CertificateDer<'_>], content: &[u8]) -> &'static Self {
        let id = Chain::new(chain.iter().map(|it| it.as_ref())).unwrap().id();
        Box::leak(Box::new(Self { id, content: content.to_vec() }))
    }
}

impl CertCompressor for Liar {
    fn compress(&self, _: Vec<u8>, _: CompressionLevel) -> Result<Vec<u8>, CompressionFailed> {
        Ok(self.content.clone())
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Unknown(self.id)
    }
}

/// Returns the errors of the end that refuses, and of its peer.
fn refused() -> (Option<Error>, Option<Error>) {
    (
        Some(Error::PeerMisbehaved(PeerMisbehaved::InvalidCertCompression)),
        Some(Error::AlertReceived(AlertDescription::BadCertificate)),
    )
}

#[test]
fn a_wrong_hash_of_the_server_is_refused_and_the_next_handshake_is_a_full_one() {
    let world = World::new();
    world.meet();
    // Only the hash of an unknown chain shows that an id has another meaning now.
    for (content, servers) in [(&[7; 32][..], Whole), (&[7; 31], Hash)] {
        let mut server = world.certificates.server(b"").unwrap();
        server.cert_compressors = vec![Liar::about(world.certificates.server_chain(), content)];
        let (client, server) = world.fail(world.client_config(), server);
        assert_eq!((client, server), refused());
        assert_eq!(world.meet().0.servers, servers);
        assert_eq!(world.meet().0.servers, Hash);
    }
}

#[test]
fn a_wrong_hash_of_the_client_is_refused() {
    let world = World::new();
    world.meet();
    let mut client = world.certificates.client().unwrap();
    client.cert_compressors = vec![Liar::about(world.certificates.client_chain(), &[7; 32])];
    let (client, server) = world.fail(client, world.server_config());
    assert_eq!((server, client), refused());
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Whole });
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Hash });
}

/// Knowing the hash of a chain proves nothing.
#[test]
fn a_server_with_the_hash_of_a_known_chain_and_without_its_key_is_refused() {
    let mut world = World::new();
    world.meet();
    let known = world.certificates.server_chain().to_vec();
    let hash = *Chain::new(known.iter().map(|it| it.as_ref())).unwrap().hash();
    world.certificates.rotate_server().unwrap();
    let mut server = world.certificates.server(b"").unwrap();
    server.cert_compressors = vec![Liar::about(&known, &hash)];
    // The lengths of the two chains may differ by that of a signature.
    let (client, _) = world.fail(world.client_config(), server);
    assert!(client.is_some());
}

/// One change in 16,384.
#[test]
fn a_server_that_changes_to_a_chain_with_the_same_id_is_refused_once() {
    let mut world = World::new();
    world.meet();
    let chain = world.certificates.server_chain().to_vec();
    let id = |more: &[u8]| {
        let chain = chain.iter().map(|it| it.as_ref());
        Chain::new(chain.chain((!more.is_empty()).then_some(more))).unwrap().id()
    };
    let mut numbers = (0..u64::MAX).map(u64::to_be_bytes);
    let same = numbers.find(|more| id(more) == id(b"")).unwrap();
    world.certificates.append_to_server_chain(&same);
    let (client, server) = world.fail(world.client_config(), world.server_config());
    assert_eq!((client, server), refused());
    assert_eq!(world.meet().0, CertificateForms { servers: Whole, clients: Hash });
    assert_eq!(world.meet().0, CertificateForms { servers: Hash, clients: Hash });
}
