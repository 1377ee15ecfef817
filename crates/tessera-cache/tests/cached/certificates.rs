//! Real certificates, verified, in either carrier; where the verifier remembers them, as hashes alone. What a
//! mutual handshake takes is printed: `cargo test -p tessera-cache mutual -- --nocapture`.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, Issuer, KeyPair, RsaKeySize,
};
use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::ClientAuthentication;
use tessera::wire::NamedGroup;
use tessera_aws_lc::SigningKey;
use tessera_cache::{Carrier, ClientCache, ServerCache};
use tessera_harness::{Mode, Pair, SERVER_NAME, Scene, at};
use tessera_webpki::{ChainStore, KnownChains, StoreBounds, WebPkiVerifier};

#[derive(Debug, Clone, Copy)]
enum Keys {
    Rsa2048,
    P256,
}

impl Keys {
    fn key(self) -> KeyPair {
        match self {
            Self::Rsa2048 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048),
            Self::P256 => KeyPair::generate(),
        }
        .expect("a key")
    }

    /// A root, and a chain of two below it.
    fn chain(self, name: &str) -> (Vec<u8>, Credential) {
        let authority = |role: &str| {
            let mut params = CertificateParams::default();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(DnType::CommonName, format!("{role} of {name}"));
            params
        };
        let root = CertifiedIssuer::self_signed(authority("root"), self.key()).expect("a root");
        let (params, below, key) = (authority("intermediate"), self.key(), self.key());
        let intermediate = params.signed_by(&below, &root).expect("an intermediate");
        let below = Issuer::from_params(&params, below);
        let mut leaf = CertificateParams::new([name.to_owned()]).expect("a name");
        leaf.distinguished_name.push(DnType::CommonName, name);
        let leaf = leaf.signed_by(&key, &below).expect("a leaf");
        let signer = SigningKey::from_pkcs8(&key.serialize_der()).expect("a key");
        let chain = vec![leaf.der().to_vec(), intermediate.der().to_vec()];
        (root.der().to_vec(), Credential::new(chain, PrivateKey::Signs(Arc::new(signer))))
    }
}

/// Two ends of which both have certificates, and caches with a carrier or none.
fn scene(chains: &[(Vec<u8>, Credential); 2], carrier: Option<Carrier>) -> Scene {
    let provider = tessera_aws_lc::provider();
    let mut scene = Scene::new(provider, Mode::Mutual);
    let [(server_root, server), (client_root, client)] = chains;
    let store = ChainStore::new(&provider, StoreBounds::default()).expect("a store");
    let knows = |root: &Vec<u8>| {
        let verifier = WebPkiVerifier::new(&[root]).expect("a verifier");
        Arc::new(KnownChains::new(verifier, &store))
    };
    let (servers, clients) = (knows(server_root), knows(client_root));
    if let Some(carrier) = carrier {
        let cache = ClientCache::new(&provider).expect("a cache");
        let cache = cache.with_carrier(carrier).with_chain_memory(servers.clone());
        scene.client.certificate_codecs = vec![Arc::new(cache)];
        let cache = ServerCache::new(&provider).expect("a cache");
        let cache = cache.with_carrier(carrier).with_chain_memory(clients.clone());
        scene.server.certificate_codecs = vec![Arc::new(cache)];
    }
    scene.client.verifier = servers;
    scene.client.credentials = vec![client.clone()];
    scene.client.groups = vec![NamedGroup::X25519];
    scene.server.credentials = vec![server.clone()];
    scene.server.client_authentication = ClientAuthentication::Required(clients);
    scene.server.tickets = None;
    scene
}

fn connect(scene: &Scene) -> Pair {
    let mut pair = scene.start(None, at(0));
    pair.run();
    let errors = (&pair.to_client.error, &pair.to_server.error);
    assert!(pair.to_client.complete && pair.to_server.complete, "{errors:?}");
    pair
}

/// How many bytes client and server sent, and how long their Certificates were.
fn bytes(pair: &Pair) -> ([usize; 2], [u32; 2]) {
    let facts = pair.client.facts();
    let [client, server] = [facts.own_certificate, facts.peer_certificate]
        .map(|it| it.map(|it| it.len).unwrap_or_default());
    ([pair.client_sent.len(), pair.server_sent.len()], [client, server])
}

#[test]
fn a_mutual_handshake_with_real_certificates_is_cached_in_either_carrier() {
    for keys in [Keys::Rsa2048, Keys::P256] {
        let chains = [SERVER_NAME, "client.example"].map(|name| keys.chain(name));
        for (carrier, short) in [(Carrier::default(), 44), (Carrier::PAPER, 37)] {
            let ends = scene(&chains, Some(carrier));
            let (first, whole) = bytes(&connect(&ends));
            let mut cached = first;
            for _ in 0..3 {
                let (again, lens) = bytes(&connect(&ends));
                assert_eq!(lens, [short; 2], "{keys:?} {carrier:?}");
                cached = again;
            }
            let saved = |at: usize| first[at] - cached[at] + 2 * SIGNATURE_VARIES;
            let least = |at: usize| (whole[at] - short) as usize;
            // Beside the Certificate a hello has less than 100 bytes more, and a request fewer.
            assert!(saved(0) > least(0) - 100 && saved(1) > least(1) - 30, "{keys:?} {carrier:?}");
            println!("{keys:?} {carrier:?}: first {first:?}, cached {cached:?}, {whole:?}");
        }
        let (full, whole) = bytes(&connect(&scene(&chains, None)));
        println!("{keys:?} without caches: {full:?}, {whole:?}");
    }
}

/// An ECDSA signature has up to so many bytes less than another.
const SIGNATURE_VARIES: usize = 8;
