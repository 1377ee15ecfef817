//! The device's ends, and its clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::auth::{Credential, NoCertificates, PeerIdentity, PrivateKey};
use tessera::crypto::{Provider, RandomFailed};
use tessera::resume::{ExternalPsk, KnownServerKey};
use tessera::wire::{CipherSuite, NamedGroup, SignatureScheme};
use tessera::{ClientConfig, Clock, Destination, ServerConfig, Time};
use tessera_embedded::{Acceptor, Buffers, Connector};
use tessera_fixed_pki::{PinnedKey, PinnedKeyVerifier, kem_public_key};
use tessera_pki::{Authority, Leaf};
use tessera_rustcrypto::{
    CHAIN_ALGORITHMS, HANDSHAKE_ALGORITHMS, KemKey, RandomSource, SigningKey, provider,
};
use tessera_webpki::{Algorithms, WebPkiVerifier};

pub const SERVER_NAME: &str = "server.example";

/// The device's record_size_limit.
pub const LIMIT: u16 = 2048;

pub struct AwsLc;

impl RandomSource for AwsLc {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        aws_lc_rs::rand::fill(out).map_err(|_| RandomFailed)
    }
}

pub fn device() -> Provider {
    provider::<AwsLc>()
}

/// A clock that a test moves.
#[derive(Debug, Default)]
pub struct TestClock(AtomicU64);

impl TestClock {
    pub fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Time { monotonic: Duration::from_secs(self.0.load(Ordering::Relaxed)), unix }
    }
}

/// A device's memory for one connection.
pub struct Memory {
    pub input: Vec<u8>,
    pub output: Vec<u8>,
}

impl Memory {
    pub fn new() -> Self {
        Self::for_records(LIMIT)
    }

    /// Has room for longer records: a ClientHello may come before its sender knows the limit.
    pub fn for_records(limit: u16) -> Self {
        let input = vec![0xa5; tessera_embedded::input_len(limit)];
        Self { input, output: vec![0xa5; tessera_embedded::output_len(1024)] }
    }

    pub fn lend(&mut self) -> Buffers<'_> {
        Buffers { input: &mut self.input, output: &mut self.output }
    }
}

pub fn psk() -> ExternalPsk {
    let suite = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
    ExternalPsk::new(b"device".to_vec(), vec![7; 32].into(), suite)
}

/// Authority, chain and configurations.
pub struct Pki {
    pub root: Authority,
    pub leaf: Leaf,
}

impl Pki {
    pub fn new() -> Self {
        let root = Authority::new("root");
        let leaf = root.below("between").issue(SERVER_NAME);
        Self { root, leaf }
    }

    pub fn device_client(&self) -> ClientConfig {
        let algorithms = Algorithms {
            handshake: HANDSHAKE_ALGORITHMS,
            chain: CHAIN_ALGORITHMS,
            chain_schemes: &[],
        };
        let verifier = WebPkiVerifier::with_algorithms(&[self.root.der()], algorithms).unwrap();
        let mut config = ClientConfig::new(device(), Arc::new(verifier));
        config.record_size_limit = Some(LIMIT);
        config
    }

    pub fn device_server(&self) -> ServerConfig {
        let key = SigningKey::from_pkcs8(&self.leaf.key_der()).unwrap();
        let key = PrivateKey::Signs(Arc::new(key));
        let credential = Credential::new(self.leaf.chain.clone(), key);
        let mut config = ServerConfig::new(device(), vec![credential]);
        config.record_size_limit = Some(LIMIT);
        config
    }

    pub fn client(&self) -> ClientConfig {
        let verifier = WebPkiVerifier::new(&[self.root.der()]).unwrap();
        ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier))
    }

    pub fn server(&self) -> ServerConfig {
        ServerConfig::new(tessera_aws_lc::provider(), vec![self.leaf.credential()])
    }
}

pub fn by_chain() -> Destination {
    Destination { server_name: SERVER_NAME.into(), ..Default::default() }
}

pub fn by_psk() -> Destination {
    Destination { external_psks: vec![psk()], ..by_chain() }
}

pub fn connector(config: ClientConfig) -> Connector {
    Connector::new(config.checked().unwrap(), Arc::new(TestClock::default()))
}

pub fn acceptor(config: ServerConfig) -> Acceptor {
    Acceptor::new(config.checked().unwrap(), Arc::new(TestClock::default()))
}

/// A client by PSK, with the least to compute.
pub fn psk_client(pki: &Pki) -> ClientConfig {
    let mut config = pki.device_client();
    config.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    config.groups = vec![NamedGroup::X25519];
    config
}

/// The server that it knows, without a certificate.
pub fn psk_server() -> ServerConfig {
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), Vec::new());
    config.external_psks = vec![psk()];
    config
}

/// A server's key of ML-KEM-768, as PKCS#8, and its public half, a SubjectPublicKeyInfo.
static KEM_KEY: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let key = tessera_aws_lc::KemKey::generate_pkcs8(SignatureScheme::KEM_MLKEM768).unwrap();
    let public = tessera_aws_lc::KemKey::from_pkcs8(&key).unwrap().public_key_info().to_vec();
    (key.to_vec(), public)
});

/// A client that knows the key.
pub fn by_known_key() -> Destination {
    let identity = PeerIdentity { blob: SERVER_NAME.into(), expires_at: None };
    let public_key = kem_public_key(&KEM_KEY.1).unwrap();
    let known_server_key = Some(Box::new(KnownServerKey { public_key, identity }));
    Destination { known_server_key, ..by_chain() }
}

fn with_ml_kem(mut config: ClientConfig) -> ClientConfig {
    config.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    config.groups = vec![NamedGroup::MLKEM768];
    config.record_size_limit = Some(LIMIT);
    config
}

/// A client that accepts the key alone.
pub fn known_key_client() -> ClientConfig {
    with_ml_kem(ClientConfig::new(device(), Arc::new(NoCertificates)))
}

/// A client that accepts the key where a server sends it, too.
pub fn raw_key_client(provider: Provider) -> ClientConfig {
    let key = PinnedKey { public_key: &KEM_KEY.1, name: SERVER_NAME };
    let verifier = PinnedKeyVerifier::new(vec![key], &[]).unwrap();
    with_ml_kem(ClientConfig::new(provider, Arc::new(verifier)))
}

fn raw_key(key: PrivateKey) -> Vec<Credential> {
    vec![Credential::raw_public_key(KEM_KEY.1.clone(), key)]
}

/// A server that has the key.
pub fn kem_server() -> ServerConfig {
    let key = tessera_aws_lc::KemKey::from_pkcs8(&KEM_KEY.0).unwrap();
    let credentials = raw_key(PrivateKey::Decapsulates(Arc::new(key)));
    ServerConfig::new(tessera_aws_lc::provider(), credentials)
}

/// The device as that server.
pub fn device_kem_server() -> ServerConfig {
    // The seed comes last (RFC 9935 §6).
    let key = KemKey::<3>::from_seed(KEM_KEY.0.last_chunk().unwrap());
    let credentials = raw_key(PrivateKey::Decapsulates(Arc::new(key)));
    let mut config = ServerConfig::new(device(), credentials);
    config.groups = vec![NamedGroup::MLKEM768];
    config.record_size_limit = Some(LIMIT);
    config
}
