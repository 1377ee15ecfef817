//! A client with a cache of certificates and without memory for what the server sizes: an error, or nothing is remembered.

use std::sync::Arc;

use tessera::auth::{
    CertificateCodecFactory, CertificateContents, CertificateNotDecoded, Credential, HandshakeEnd,
    PeerAcceptance, PeerCertificate, PeerInfo, PeerRejected, PeerVerifier, PrivateKey, ServerInfo,
    VerifierPolicy, VerifyPeer,
};
use tessera::handshake::ClientAuthentication;
use tessera::wire::{
    AlertDescription, CertificateType, CipherSuite, EntryExtensions, NamedGroup, SignatureScheme,
};
use tessera::{ClientConfig, Destination, Error, Reply, Role, ServerConfig};
use tessera_cache::{ChainHash, ClientCache, PublicIds, ServerCache};
use tessera_heap_tests::{Heap, heap, on_heap, refuse_each, set_heap};
use tessera_null_provider::{NullSigner, NullVerifier};

use crate::ends::{Ends, NOW, Pair};
use crate::need::limits;
use crate::provider::PROVIDER;

/// What is smaller is of fixed size: the nodes of the cache's trees have 2 KB. The server's certificates are larger.
const SMALLEST: usize = 4096;

/// Asks for staples.
struct Stapled;

impl PeerVerifier for Stapled {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        EntryExtensions { status_request: true, ..EntryExtensions::default() }
    }

    fn policy(&self) -> VerifierPolicy {
        NullVerifier.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        NullVerifier.verify(question)
    }
}

fn credential(len: usize) -> Credential {
    Credential::new(vec![vec![0x30; len]; 3], PrivateKey::Signs(Arc::new(NullSigner)))
}

/// Two ends with caches; the server's three certificates are long, and so is its staple.
fn ends() -> Ends {
    let mut client = ClientConfig::new(PROVIDER, Arc::new(Stapled));
    client.groups = vec![NamedGroup::X25519];
    client.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    client.limits = limits(2_048, 40_000, 2);
    client.credentials = vec![credential(100)];
    client.certificate_codecs = vec![Arc::new(ClientCache::new(&PROVIDER).unwrap())];
    let mut long = credential(5_000);
    long.ocsp_response = Some(vec![7; 5_000]);
    let mut server = ServerConfig::new(PROVIDER, vec![long]);
    (server.groups, server.suites) = (client.groups.clone(), client.suites.clone());
    server.client_authentication = ClientAuthentication::Required(Arc::new(NullVerifier));
    server.certificate_codecs = vec![Arc::new(ServerCache::new(&PROVIDER).unwrap())];
    Ends { client: client.checked().unwrap(), server: server.checked().unwrap() }
}

/// Connects with the client on the heap as it is set.
fn connect(ends: &Ends) -> Pair {
    let to = Destination { server_name: "server.example".into(), ..Destination::default() };
    let mut pair = ends.start(to, Role::Client).unwrap();
    pair.run(100_000);
    pair
}

fn connect_with_memory(ends: &Ends) -> Pair {
    set_heap(Heap::with_limit(isize::MAX));
    let pair = connect(ends);
    assert_eq!((&pair.client.error, &pair.server.error), (&None, &None));
    pair
}

#[test]
fn a_server_is_recognised_or_the_connection_ends_with_internal_error_and_the_next_works() {
    // A server that isn't known, and one that is.
    for before in [0, 1] {
        let (mut ended, mut forgotten) = (0, 0);
        let blocks = refuse_each(SMALLEST, || {
            let refusing = heap();
            let ends = ends();
            for _ in 0..before {
                assert!(!connect_with_memory(&ends).client.has_decoded());
            }
            set_heap(refusing);
            let pair = connect(&ends);
            let refusing = heap();
            match &pair.client.error {
                None => assert!(pair.client.is_complete && pair.server.is_complete),
                Some(error) => {
                    assert!(matches!(error, Error::OutOfMemory(_)), "{error:?}");
                    let alert = AlertDescription::INTERNAL_ERROR;
                    assert_eq!(pair.server.error, Some(Error::AlertReceived(alert)));
                }
            }
            let next = connect_with_memory(&ends).client;
            ended += usize::from(pair.client.error.is_some());
            forgotten += usize::from(pair.client.error.is_none() && !next.has_decoded());
            // If nothing was refused, it is known now, and two connections later in any case.
            assert!(next.has_decoded() || refusing.refused > 0);
            connect_with_memory(&ends);
            assert!(connect_with_memory(&ends).client.has_decoded());
            set_heap(refusing);
        });
        println!("{before} before: {blocks} blocks, {ended} ended, {forgotten} forgotten");
        assert!(blocks >= 6 && ended > 6);
        assert_eq!(forgotten > 0, before == 0);
    }
}

/// A CompressedCertificate may consist of empty lists, of two bytes each.
#[test]
fn a_hash_with_many_lists_takes_no_more_memory_than_the_chain() {
    let cache = ClientCache::new(&PROVIDER).unwrap();
    let cache = Arc::new(cache.with_public_ids(PublicIds::ObserversRecogniseChains));
    let to = ServerInfo::new("server.example", NOW);
    let codec = || cache.clone().codec(PeerInfo::Server(&to)).unwrap().unwrap();
    let certificate = [&[0, 1, 0][..], &[0x30; 256], &[0, 0]].concat();
    let body = [&[0, 0, 1, 5][..], &certificate].concat();
    let contents = CertificateContents::Body(body.clone());
    let peer = PeerCertificate::new(CertificateType::X509, contents);
    codec().ended(&HandshakeEnd::new(Some(&peer), None, NOW, &|_, out| out.fill(7)));

    let mut codec = codec();
    let id = codec.offers()[0];
    let sha256 = PROVIDER.sha256().unwrap();
    let hash = ChainHash::of_body(sha256, CertificateType::X509, &body).unwrap();
    let encoded = [&hash.0[..], &[0, 1, 7], &[0; 30_000]].concat();
    let blocks = refuse_each(200, || {
        let decoded = on_heap(|| codec.decode(id, &encoded, body.len()));
        assert!(heap().peak < body.len() as isize + 200, "{}", heap().peak);
        match decoded {
            Ok(decoded) => assert!(!decoded.is_what_was_sent && heap().refused == 0),
            Err(error) => assert!(matches!(error, CertificateNotDecoded::OutOfMemory(_))),
        }
    });
    assert_eq!(blocks, 1);
}
