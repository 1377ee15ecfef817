//! What the ends of all images have in common, by features.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use tessera::auth::{Credential, PeerVerifier};
use tessera::crypto::{Depth, StackDepth};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{AssociationOptions, ClientConfig, Limits, ServerConfig, Time};

use crate::random::PROVIDER;

/// The most that a record holds, in bytes (RFC 8449).
pub const RECORD: u16 = 2048;

/// The most data that a record holds which a client alone sends, in bytes.
pub const DATA: usize = 64;

/// The longest datagram, in bytes: the MTU of IPv6, without the headers of UDP and IP.
pub const DATAGRAM: usize = 1280 - 48;

pub const SERVER_NAME: &str = "server.example";

const GROUP: NamedGroup = if cfg!(feature = "hybrid") {
    NamedGroup::X25519MLKEM768
} else if cfg!(feature = "ml-kem") {
    NamedGroup::MLKEM768
} else {
    NamedGroup::X25519
};

/// The time of every connection: in 2027.
pub const NOW: Time =
    Time { monotonic: Duration::ZERO, unix: Some(Duration::from_secs(1_800_000_000)) };

/// A clock that stands still.
#[derive(Debug)]
pub struct StoppedClock;

impl tessera::Clock for StoppedClock {
    fn now(&self) -> Time {
        NOW
    }
}

/// What a client with a PSK reaches below the calls that handle secrets: 2,848 bytes at opt-level z.
const PSK_CLIENT: StackDepth =
    StackDepth { derivation: Depth::of::<4096>(), agreement: Depth::of::<4096>() };

/// What a client that knows its server's key reaches: 9,710 bytes at opt-level z, in the step that generates a key and
/// encapsulates to another.
const KNOWN_KEY_CLIENT: StackDepth =
    StackDepth { derivation: Depth::of::<4096>(), agreement: Depth::of::<10_240>() };

/// What either end reads of the other.
pub const LIMITS: Limits = Limits {
    // The signature of a CertificateVerify has 2,420 bytes with ML-DSA-44, and a certificate 4 KB. What is encapsulated to a key
    // of ML-KEM-768 has 1,088.
    handshake_message: if cfg!(feature = "ml-dsa") {
        4096
    } else if cfg!(all(feature = "kem-pinned", not(feature = "kem-raw-key"))) {
        1280
    } else if cfg!(any(feature = "hybrid", feature = "ml-kem")) {
        2048
    } else if cfg!(feature = "p256") {
        1024
    } else {
        512
    },
    certificate_message: if cfg!(any(feature = "ml-dsa", feature = "kem-x509-ml-dsa")) {
        12 * 1024
    } else if cfg!(feature = "chains") {
        8192
    } else if cfg!(feature = "ml-kem") {
        2048
    } else {
        1024
    },
    // With a share of ML-KEM-768 and what is encapsulated to a known key.
    client_hello: if cfg!(feature = "kem-pinned") { 3072 } else { 2048 },
    tickets: 0,
};

/// Returns a client with this verifier.
pub fn client_with(verifier: Arc<dyn PeerVerifier>) -> ClientConfig {
    let mut config = ClientConfig::new(PROVIDER, verifier);
    config.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    config.groups = vec![GROUP];
    config.record_size_limit = Some(RECORD);
    config.policy.resumption = false;
    config.limits = LIMITS;
    if cfg!(all(feature = "kem-pinned", not(feature = "kem-raw-key"))) {
        config.provider.stack_depth = KNOWN_KEY_CLIENT;
    } else if !cfg!(any(feature = "chains", feature = "kem-raw-key")) {
        config.provider.stack_depth = PSK_CLIENT;
    }
    config
}

/// Returns a server with these credentials.
pub fn server_with(credentials: Vec<Credential>) -> ServerConfig {
    let mut config = ServerConfig::new(PROVIDER, credentials);
    config.record_size_limit = Some(RECORD);
    config.limits = LIMITS;
    config
}

/// Returns what is specific to associations, without connection IDs: the ends don't move.
pub fn datagrams() -> AssociationOptions {
    AssociationOptions {
        connection_id: None,
        max_datagram: DATAGRAM,
        ..AssociationOptions::default()
    }
}
