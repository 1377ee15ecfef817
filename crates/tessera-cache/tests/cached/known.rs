//! Real certificates, and verifiers that remember accepted chains: caches keep hashes.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tessera::Time;
use tessera::auth::{
    AskedChain, CertificateCodec, CertificateCodecFactory, ChainMemory, CodecOutcome, CodecRefusal,
    Credential, HandshakeEnd, PeerCertificate, PeerInfo, PinnedChain, chain_hash,
};
use tessera::handshake::ClientAuthentication;
use tessera::wire::{CertificateCompressionAlgorithm, SignatureScheme};
use tessera_cache::{Carrier, ClientCache, MissReason, ServerCache};
use tessera_fixed_pki::{Anchor, FixedPkiVerifier};
use tessera_harness::{Mode, SERVER_NAME, at};
use tessera_pki::Authority;
use tessera_pki::rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, SignatureAlgorithm,
    date_time_ymd,
};
use tessera_rustcrypto::HANDSHAKE_ALGORITHMS;
use tessera_webpki::{ChainStore, KnownChains, StoreBounds, WebPkiVerifier};

use crate::fleet::ring;
use crate::reasons::assert_told;
use crate::{Ends, hits_of};

fn until_2040(params: &mut CertificateParams) {
    params.not_after = date_time_ymd(2040, 1, 1);
}

/// The kind of all certificates' keys.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys {
    Rsa2048,
    P256,
    /// Of the end entities alone; their issuers sign with P-256.
    MlKem768,
}

impl Keys {
    fn algorithm(self) -> &'static SignatureAlgorithm {
        match self {
            Self::Rsa2048 => &PKCS_RSA_SHA256,
            Self::P256 | Self::MlKem768 => &PKCS_ECDSA_P256_SHA256,
        }
    }
}

/// Makes a certificate for the scene's server or any client, with that of its issuer.
fn credential(keys: Keys, issuer: &Authority) -> Credential {
    if matches!(keys, Keys::MlKem768) {
        let scheme = SignatureScheme::KEM_MLKEM768;
        return issuer.issue_kem(scheme, &[SERVER_NAME], until_2040).credential();
    }
    let key = KeyPair::generate_for(keys.algorithm()).expect("a key");
    issuer.issue_for(key, &[SERVER_NAME], until_2040).credential()
}

/// A verifier's memory that a test can clear.
pub(crate) struct ForgetfulVerifier {
    verifier: Arc<KnownChains>,
    forgot: AtomicBool,
}

impl ChainMemory for ForgetfulVerifier {
    fn pin(&self, asked: &AskedChain<'_>) -> Option<PinnedChain> {
        let forgot = self.forgot.load(Ordering::Relaxed);
        self.verifier.pin(asked).filter(|_| !forgot)
    }
}

/// Makes ends with real certificates, and returns the memories of their verifiers.
fn ends() -> (Ends, [Arc<ForgetfulVerifier>; 2]) {
    ends_with(Keys::P256, Carrier::default())
}

/// Makes ends like `ends`, with these keys and this carrier.
pub(crate) fn ends_with(keys: Keys, carrier: Carrier) -> (Ends, [Arc<ForgetfulVerifier>; 2]) {
    let root = Authority::with("root", keys.algorithm(), until_2040);
    let issuer = root.below_with("issuer", keys.algorithm(), until_2040);
    let mut ends = Ends::new(Mode::Mutual);
    let provider = ends.scene.client.provider;
    let memories = [(); 2].map(|()| {
        let store = ChainStore::new(&provider, StoreBounds::default()).expect("a store");
        let verifier = WebPkiVerifier::new(&[root.der()]).expect("a verifier");
        let verifier = match keys {
            Keys::MlKem768 => verifier.accepting_kems_alone(&[SignatureScheme::KEM_MLKEM768]),
            _ => Ok(verifier),
        };
        let verifier = Arc::new(KnownChains::new(verifier.expect("KEMs"), &store));
        Arc::new(ForgetfulVerifier { verifier, forgot: AtomicBool::new(false) })
    });
    let [at_client, at_server] = &memories;
    ends.scene.client.credentials = vec![credential(keys, &issuer)];
    ends.scene.server.credentials = vec![credential(keys, &issuer)];
    ends.scene.client.verifier = at_client.verifier.clone();
    ends.scene.server.client_authentication =
        ClientAuthentication::Required(at_server.verifier.clone());
    let client = ClientCache::new(&provider).expect("a cache");
    ends.client = Arc::new(client.with_chain_memory(at_client.clone()).with_carrier(carrier));
    let server = ServerCache::new(&provider).expect("a cache");
    ends.server = Arc::new(server.with_chain_memory(at_server.clone()).with_carrier(carrier));
    ends.scene.client.certificate_codecs = vec![ends.client.clone()];
    ends.scene.server.certificate_codecs = vec![ends.server.clone()];
    ends.carrier = carrier;
    (ends, memories)
}

/// A device whose verifier checks no dates has the server's chain sent as a hash, too.
#[test]
fn a_server_is_known_without_a_clock_if_dates_do_not_count() {
    let root = Authority::with("root", &PKCS_ECDSA_P256_SHA256, until_2040);
    let anchor = Anchor::certificate(root.der().leak()).expect("an anchor");
    let now = Time { unix: None, ..at(0) };
    for (is_dated, expected) in [(false, true), (true, false)] {
        let mut ends = Ends::new(Mode::Full);
        let provider = ends.scene.client.provider;
        let store = ChainStore::new(&provider, StoreBounds::default()).expect("a store");
        let verifier = FixedPkiVerifier::new(vec![anchor], HANDSHAKE_ALGORITHMS);
        let verifier = verifier.expect("a verifier");
        let verifier = if is_dated { verifier } else { verifier.without_checking_dates() };
        let verifier = Arc::new(tessera_fixed_pki::KnownChains::new(verifier, &store));
        ends.scene.server.credentials = vec![credential(Keys::P256, &root)];
        ends.scene.client.verifier = verifier.clone();
        let cache = ClientCache::new(&provider).expect("a cache");
        ends.client = Arc::new(cache.with_chain_memory(verifier));
        ends.scene.client.certificate_codecs = vec![ends.client.clone()];
        let connect = || {
            let mut pair = ends.scene.start(None, now);
            pair.run();
            (pair.to_client.complete, hits_of(&pair).0)
        };
        assert_eq!([connect(), connect()], [(expected, false), (expected, expected)]);
    }
}

#[test]
fn a_chain_that_the_verifier_knows_is_kept_as_its_hash() {
    let (ends, _) = ends();
    assert_eq!(ends.hits(), (false, false));
    for _ in 0..3 {
        assert_eq!(ends.hits(), (true, true));
    }
    let (client, server) = ends.metrics();
    // The server's address, its tickets and so on; only the hash of its chain.
    assert!(client.bytes < 900, "{}", client.bytes);
    // The record of a client, and what all clients share.
    assert!(server.bytes < 400, "{}", server.bytes);
}

/// The memories give the keys back to which the ends encapsulate.
#[test]
fn known_chains_to_keys_of_kems_travel_as_hashes_too() {
    for carrier in [Carrier::default(), Carrier::PAPER] {
        let (ends, memories) = ends_with(Keys::MlKem768, carrier);
        assert_eq!(ends.hits(), (false, false));
        for _ in 0..3 {
            let pair = ends.connect();
            assert_eq!(hits_of(&pair), (true, true));
            for facts in [pair.client.facts(), pair.server.facts()] {
                assert!(facts.peer.is_some());
                assert_eq!(facts.signature_scheme, Some(SignatureScheme::KEM_MLKEM768));
            }
        }
        memories.iter().for_each(|memory| memory.forgot.store(true, Ordering::Relaxed));
        assert_eq!(ends.hits(), (false, false));
    }
}

/// The ticket locates a chain in either form.
#[test]
fn a_fleet_ticket_finds_a_chain_of_which_the_hash_alone_is_kept() {
    let (mut ends, [_, at_server]) = ends();
    ends.scene.server.policy.tickets.new_session_count = 4;
    ends.scene.client.policy.tickets.new_session_count = 4;
    let cache = ServerCache::new(&ends.scene.server.provider).expect("a cache");
    let cache = cache.with_chain_memory(at_server.clone()).with_fleet_tickets(ring());
    ends.server = Arc::new(cache);
    ends.scene.server.certificate_codecs = vec![ends.server.clone()];
    ends.connect();
    for times in 1..4 {
        ends.only_fleet_tickets_are_left();
        assert_eq!(ends.hits(), (true, true));
        assert_eq!(ends.server.metrics().found_by_fleet_ticket, times);
    }
    at_server.forgot.store(true, Ordering::Relaxed);
    ends.only_fleet_tickets_are_left();
    assert_eq!(ends.hits(), (true, false));
    assert_eq!(ends.server.metrics().missed_forgotten, 1);
}

#[test]
fn a_chain_that_the_verifier_forgot_comes_whole() {
    let (ends, memories) = ends();
    ends.connect();
    memories.iter().for_each(|memory| memory.forgot.store(true, Ordering::Relaxed));
    let pair = ends.connect();
    assert_eq!(hits_of(&pair), (false, false));
    let forgotten = Some(MissReason::Forgotten);
    let (unknown, nothing) = (Some(MissReason::UnknownTicket), Some(MissReason::NothingCached));
    assert_told(&pair, [unknown, forgotten], [forgotten, nothing]);
    let (client, server) = ends.metrics();
    assert_eq!((client.missed_forgotten, server.missed_forgotten), (1, 1));
    // The entry of the forgotten chain was removed: this is the client that connected since.
    assert_eq!(server.entries, 1);
    // Now the caches keep the chains themselves.
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn real_certificates_are_cached_without_a_memory() {
    let (mut ends, _) = ends();
    let provider = ends.scene.client.provider;
    let client: Arc<ClientCache> = Arc::new(ClientCache::new(&provider).expect("a cache"));
    ends.scene.client.certificate_codecs = vec![client];
    ends.restart_server();
    assert_eq!(ends.hits(), (false, false));
    assert_eq!(ends.hits(), (true, true));
}

/// A codec that encodes nothing, and records what it learns of peers.
#[derive(Clone, Default)]
struct Witness(Arc<Mutex<Vec<PeerCertificate>>>);

impl CertificateCodecFactory for Witness {
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm> {
        let one = CertificateCompressionAlgorithm(0x7001);
        one..=one
    }

    fn codec(
        self: Arc<Self>,
        _: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(Some(Box::new((*self).clone())))
    }
}

impl CertificateCodec for Witness {
    fn ended(self: Box<Self>, end: &HandshakeEnd<'_>) -> CodecOutcome {
        self.0.lock().expect("unpoisoned").extend(end.peer.cloned());
        CodecOutcome::default()
    }
}

#[test]
fn codecs_receive_the_hash_that_the_verifier_has_computed() {
    let (mut ends, _) = ends();
    let witness = Witness::default();
    ends.scene.client.certificate_codecs = vec![Arc::new(witness.clone())];
    ends.scene.server.certificate_codecs = vec![Arc::new(witness.clone())];
    // The second time both verifiers know the chains.
    ends.connect();
    ends.connect();
    let seen = witness.0.lock().expect("unpoisoned");
    assert_eq!(seen.len(), 4);
    let sha256 = ends.scene.client.provider.sha256().expect("a hash");
    for peer in &*seen {
        let chain: Vec<_> = peer.chain().collect();
        assert_eq!(chain.len(), 2);
        assert_eq!(peer.chain_hash, chain_hash(sha256, &chain));
    }
}
