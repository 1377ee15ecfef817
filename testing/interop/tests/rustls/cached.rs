//! Cached certificates, both ways: `tessera-cache` with public ids, and an unmodified rustls with the algorithms of
//! `examples/rustls-cached`.

use std::sync::Arc;

use rustls::CertificateCompressionAlgorithm;
use rustls::compress::{CertCompressor, CompressionFailed, CompressionLevel};
use rustls::compress::{ZLIB_COMPRESSOR, ZLIB_DECOMPRESSOR};
use rustls::crypto::aws_lc_rs::kx_group;
use rustls::pki_types::CertificateDer;
use tessera::handshake::ClientAuthentication;
use tessera::wire::{self, AlertDescription};
use tessera_cache::PublicIds;
use tessera_interop::{
    Caches, Client, CountingCompression, Form, Form::Hash, Form::Whole, Identity, KeyKind,
    Listener, SERVER_NAME, client, forms, server, to,
};
use tessera_rustls_cached::{CachedChains, Chain, Destination};

use crate::peer::{Plan, connect_and, serve_and, talk_and_close};
use crate::{World, identity, with_groups};

/// Both with their caches; either may be restarted, and either may get a new certificate.
struct Ends {
    world: World,
    tessera: Caches,
    rustls: Arc<CachedChains>,
}

/// How the certificates of the server and the client travelled.
type CertificateForms = (Form, Form);

impl Ends {
    fn new() -> Self {
        let mut world = World::new();
        world.server = world.pki.server_of_intermediate();
        Self { world, tessera: Caches::new(), rustls: Arc::default() }
    }

    /// rustls as the server.
    #[track_caller]
    fn rustls_serves(&self) -> CertificateForms {
        let (config, own) = (self.world.rustls_server_mutual(), identity(&self.world.server).0);
        self.rustls_serves_with(self.rustls.server_config(&config, &own))
    }

    #[track_caller]
    fn rustls_serves_with(&self, mut rustls: rustls::ServerConfig) -> CertificateForms {
        rustls.send_tls13_tickets = 0;
        let cache = self.rustls.clone();
        let learn = move |connection: &_| cache.learn_client(connection);
        let (address, thread) = serve_and(&Arc::new(rustls), Plan::talk(), learn);
        let mut end = Client::start(&self.client(), to(None), address);
        talk_and_close(&mut end, thread);
        let (own, peer) = forms(end.facts());
        (peer, own)
    }

    /// Tessera as the client.
    fn client(&self) -> tessera::ClientConfig {
        let mut config = client(&self.world.pki);
        config.credentials = vec![self.world.client.credential()];
        self.tessera.client(config)
    }

    /// rustls as the client.
    #[track_caller]
    fn rustls_connects(&self) -> CertificateForms {
        let (config, own) = (self.world.rustls_client_mutual(), identity(&self.world.client).0);
        let to = Destination::new(SERVER_NAME, 443, &config);
        self.rustls_connects_with(self.rustls.client_config(&config, &to, &own), to)
    }

    #[track_caller]
    fn rustls_connects_with(
        &self,
        rustls: rustls::ClientConfig,
        to: Destination,
    ) -> CertificateForms {
        let listener = Listener::new();
        let cache = self.rustls.clone();
        let learn = move |connection: &_| cache.learn_server(&to, connection);
        let thread = connect_and(&Arc::new(rustls), listener.address(), Plan::talk(), learn);
        let mut end = listener.serve(&self.server());
        talk_and_close(&mut end, thread);
        forms(end.facts())
    }

    /// Tessera as the server.
    fn server(&self) -> tessera::ServerConfig {
        let mut config = server(&self.world.server);
        config.client_authentication = ClientAuthentication::Required(self.world.pki.verifier());
        self.tessera.server(config)
    }

    fn new_server_certificate(&mut self) {
        self.world.server = self.world.pki.server_of_intermediate();
    }

    fn new_client_certificate(&mut self) {
        self.world.client = self.world.pki.client(KeyKind::P256);
    }
}

/// rustls as the server, and rustls as the client.
const ROLES: [fn(&Ends) -> CertificateForms; 2] = [Ends::rustls_serves, Ends::rustls_connects];

#[test]
fn each_chain_travels_once_between_rustls_and_tessera() {
    for connect in ROLES {
        let ends = Ends::new();
        assert_eq!(connect(&ends), (Whole, Whole));
        for _ in 0..3 {
            assert_eq!(connect(&ends), (Hash, Hash));
        }
        assert_eq!(ends.rustls.restored(), 3);
    }
}

#[test]
fn a_new_chain_travels_whole_once_between_rustls_and_tessera() {
    for connect in ROLES {
        let mut ends = Ends::new();
        connect(&ends);
        ends.new_server_certificate();
        assert_eq!(connect(&ends), (Whole, Hash));
        assert_eq!(connect(&ends), (Hash, Hash));
        ends.new_client_certificate();
        assert_eq!(connect(&ends), (Hash, Whole));
        assert_eq!(connect(&ends), (Hash, Hash));
    }
}

#[test]
fn whichever_of_rustls_and_tessera_was_restarted_is_sent_the_chain_again() {
    // A restarted client has lost the server's chain, a restarted server the client's.
    for (connect, tessera_lost, rustls_lost) in
        [(ROLES[0], (Whole, Hash), (Hash, Whole)), (ROLES[1], (Hash, Whole), (Whole, Hash))]
    {
        let mut ends = Ends::new();
        connect(&ends);
        ends.tessera = Caches::new();
        assert_eq!(connect(&ends), tessera_lost);
        assert_eq!(connect(&ends), (Hash, Hash));
        ends.rustls = Arc::default();
        assert_eq!(connect(&ends), rustls_lost);
        assert_eq!(connect(&ends), (Hash, Hash));
    }
}

#[test]
fn a_rustls_without_a_cache_and_tessera_exchange_whole_chains() {
    let ends = Ends::new();
    let config = ends.world.rustls_client_mutual();
    let to = Destination::new(SERVER_NAME, 443, &config);
    for _ in 0..3 {
        assert_eq!(ends.rustls_serves_with(ends.world.rustls_server_mutual()), (Whole, Whole));
        assert_eq!(ends.rustls_connects_with(config.clone(), to.clone()), (Whole, Whole));
    }
}

#[test]
fn rustls_and_tessera_exchange_whole_chains_where_ids_are_not_public() {
    for connect in ROLES {
        let mut ends = Ends::new();
        ends.tessera = Caches::with(PublicIds::Never);
        for _ in 0..3 {
            assert_eq!(connect(&ends), (Whole, Whole));
        }
    }
}

/// An unknown id is listed before zlib.
#[test]
fn a_rustls_with_zlib_alone_chooses_that() {
    let ends = Ends::new();
    let mut rustls = ends.world.rustls_server();
    rustls.cert_compressors = vec![ZLIB_COMPRESSOR];
    rustls.cert_decompressors = vec![ZLIB_DECOMPRESSOR];
    rustls.send_tls13_tickets = 0;
    let rustls = Arc::new(rustls);
    let zlib = CountingCompression::new(wire::CertificateCompressionAlgorithm::ZLIB);
    for times in 1..=3 {
        let mut config = ends.client();
        config.certificate_codecs.push(zlib.clone());
        let (address, thread) = serve_and(&rustls, Plan::talk(), |_| ());
        let mut end = Client::start(&config, to(None), address);
        talk_and_close(&mut end, thread);
        assert_eq!(forms(end.facts()), (Form::Absent, Form::Compressed(1)));
        assert_eq!(zlib.counts().1, times);
    }
    assert_eq!(ends.tessera.client.metrics().missed_another_chain, 2);
}

/// The second ClientHello offers the same as the first.
#[test]
fn chains_are_known_in_a_handshake_of_rustls_and_tessera_with_a_hello_retry_request() {
    let ends = Ends::new();
    ends.rustls_serves();
    let rustls = ends.world.rustls_server_with(with_groups(&[kx_group::SECP384R1]));
    let rustls = ends.rustls.server_config(&rustls, &identity(&ends.world.server).0);
    let (address, thread) = serve_and(&Arc::new(rustls), Plan::talk(), |_| ());
    let mut end = Client::start(&ends.client(), to(None), address);
    talk_and_close(&mut end, thread);
    assert!(end.facts().hello_retry);
    assert_eq!(forms(end.facts()), (Form::Absent, Hash));

    let ends = Ends::new();
    ends.rustls_connects();
    let (config, own) = (ends.world.rustls_client_mutual(), identity(&ends.world.client).0);
    let to = Destination::new(SERVER_NAME, 443, &config);
    let rustls = Arc::new(ends.rustls.client_config(&config, &to, &own));
    let listener = Listener::new();
    let thread = connect_and(&rustls, listener.address(), Plan::talk(), |_| ());
    let config =
        tessera::ServerConfig { groups: vec![wire::NamedGroup::SECP384R1], ..ends.server() };
    let mut end = listener.serve(&config);
    talk_and_close(&mut end, thread);
    assert!(end.facts().hello_retry);
    assert_eq!(forms(end.facts()), (Hash, Hash));
}

/// Claims the hash of another chain.
#[derive(Debug)]
struct Liar(u16);

impl Liar {
    fn about(chain: &[CertificateDer<'_>]) -> Vec<&'static dyn CertCompressor> {
        let chain = Chain::new(chain.iter().map(|it| it.as_ref())).unwrap();
        vec![Box::leak(Box::new(Self(chain.id())))]
    }
}

impl CertCompressor for Liar {
    fn compress(&self, _: Vec<u8>, _: CompressionLevel) -> Result<Vec<u8>, CompressionFailed> {
        Ok(vec![7; 32])
    }

    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::Unknown(self.0)
    }
}

/// The alert doesn't reveal which chain was expected: it is that of a wrong signature.
#[test]
fn a_rustls_with_a_wrong_hash_is_refused_as_if_its_signature_were_wrong() {
    let ends = Ends::new();
    ends.rustls_serves();
    let mut rustls = ends.world.rustls_server_mutual();
    rustls.cert_compressors = Liar::about(&identity(&ends.world.server).0);
    let (address, thread) = serve_and(&Arc::new(rustls), Plan::talk(), |_| ());
    let mut end = Client::start(&ends.client(), to(None), address);
    assert_eq!(end.failure().alert(), Some(AlertDescription::DECRYPT_ERROR));
    drop(end);
    assert!(thread.join().unwrap().error.unwrap().contains("DecryptError"));

    let ends = Ends::new();
    ends.rustls_connects();
    let mut rustls = ends.world.rustls_client_mutual();
    rustls.cert_compressors = Liar::about(&identity(&ends.world.client).0);
    let listener = Listener::new();
    let thread = connect_and(&Arc::new(rustls), listener.address(), Plan::talk(), |_| ());
    let mut end = listener.serve(&ends.server());
    assert_eq!(end.failure().alert(), Some(AlertDescription::DECRYPT_ERROR));
    drop(end);
    assert!(thread.join().unwrap().error.unwrap().contains("DecryptError"));
    // The id may belong to two clients: it isn't offered until this one has connected again.
    assert_eq!(ends.rustls_connects(), (Hash, Whole));
    assert_eq!(ends.rustls_connects(), (Hash, Hash));
}

/// Extends this chain until it has the id of the other one.
fn with_the_id_of(other: &Identity, identity: &mut Identity) {
    let id = |chain: &[Vec<u8>]| Chain::new(chain.iter().map(Vec::as_slice)).unwrap().id();
    let wanted = id(&other.chain);
    identity.chain.push(Vec::new());
    let mut numbers = 0_u64..;
    while id(&identity.chain) != wanted {
        let junk = identity.chain.last_mut().unwrap();
        *junk = numbers.next().unwrap().to_be_bytes().to_vec();
    }
}

/// One change in 16,384.
#[test]
fn a_rustls_server_that_changes_to_a_chain_with_the_same_id_is_refused_once() {
    let mut ends = Ends::new();
    ends.rustls_serves();
    let mut new = ends.world.pki.server_of_intermediate();
    with_the_id_of(&ends.world.server, &mut new);
    ends.world.server = new;
    let (config, own) = (ends.world.rustls_server_mutual(), identity(&ends.world.server).0);
    let rustls = Arc::new(ends.rustls.server_config(&config, &own));
    let (address, thread) = serve_and(&rustls, Plan::talk(), |_| ());
    let mut end = Client::start(&ends.client(), to(None), address);
    assert_eq!(end.failure().alert(), Some(AlertDescription::DECRYPT_ERROR));
    drop(end);
    thread.join().unwrap();
    assert_eq!(ends.rustls_serves().0, Whole);
    assert_eq!(ends.rustls_serves(), (Hash, Hash));
}

/// The probability is 1 in 16,384 for each known client.
#[test]
fn a_rustls_client_whose_chain_has_the_id_of_anothers_is_refused_once() {
    let mut ends = Ends::new();
    ends.rustls_connects();
    let mut other = ends.world.pki.client(KeyKind::P256);
    with_the_id_of(&ends.world.client, &mut other);
    ends.world.client = other;
    let (config, own) = (ends.world.rustls_client_mutual(), identity(&ends.world.client).0);
    let to = Destination::new(SERVER_NAME, 443, &config);
    let rustls = Arc::new(ends.rustls.client_config(&config, &to, &own));
    let listener = Listener::new();
    let thread = connect_and(&rustls, listener.address(), Plan::talk(), |_| ());
    let mut end = listener.serve(&ends.server());
    assert_eq!(end.failure().alert(), Some(AlertDescription::DECRYPT_ERROR));
    drop(end);
    thread.join().unwrap();
    // Two known clients with one id: an answer to it would be ambiguous, so it isn't offered.
    for _ in 0..2 {
        assert_eq!(ends.rustls_connects(), (Hash, Whole));
    }
}
