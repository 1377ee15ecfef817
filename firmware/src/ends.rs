//! The ends of each image, by its features.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use tessera::auth::PeerVerifier;
use tessera::crypto::{Depth, StackDepth};
use tessera::resume::ExternalPsk;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{AssociationOptions, ClientConfig, Destination, Error, Limits, ServerConfig, Time};

use crate::random::PROVIDER;

/// The most that a record holds, in bytes (RFC 8449).
pub const RECORD: u16 = 2048;

/// The most data that a record holds which a client alone sends, in bytes.
pub const DATA: usize = 64;

/// The longest datagram, in bytes: the MTU of IPv6, without the headers of UDP and IP.
pub const DATAGRAM: usize = 1280 - 48;

pub const SERVER_NAME: &str = "server.example";

const GROUP: NamedGroup =
    if cfg!(feature = "hybrid") { NamedGroup::X25519MLKEM768 } else { NamedGroup::X25519 };

/// The time of every connection: in 2027.
pub const NOW: Time =
    Time { monotonic: Duration::ZERO, unix: Some(Duration::from_secs(1_800_000_000)) };

/// It stands still.
#[derive(Debug)]
pub struct Clock;

impl tessera::Clock for Clock {
    fn now(&self) -> Time {
        NOW
    }
}

/// What a client with a PSK reaches below the calls that handle secrets: 2,848 bytes at opt-level z.
const PSK_CLIENT: StackDepth =
    StackDepth { derivation: Depth::of::<4096>(), agreement: Depth::of::<4096>() };

/// What either end reads of the other.
pub const LIMITS: Limits = Limits {
    // The signature of a CertificateVerify has 2,420 bytes with ML-DSA-44, and a certificate 4 KB.
    handshake_message: if cfg!(feature = "ml-dsa") {
        4096
    } else if cfg!(feature = "hybrid") {
        2048
    } else if cfg!(feature = "p256") {
        1024
    } else {
        512
    },
    certificate_message: if cfg!(feature = "ml-dsa") {
        12 * 1024
    } else if cfg!(feature = "p256") {
        8192
    } else {
        1024
    },
    client_hello: 2048,
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
    if !cfg!(feature = "p256") {
        config.provider.stack_depth = PSK_CLIENT;
    }
    config
}

pub fn destination() -> Destination {
    Destination { server_name: SERVER_NAME.into(), external_psks: psks(), ..Destination::default() }
}

/// Returns what is specific to associations, without connection IDs: the ends don't move.
pub fn datagrams() -> AssociationOptions {
    AssociationOptions {
        connection_id: None,
        max_datagram: DATAGRAM,
        ..AssociationOptions::default()
    }
}

#[cfg(not(feature = "p256"))]
mod by_psk {
    use super::*;
    use tessera::auth::NoCertificates;

    pub(super) fn psks() -> Vec<ExternalPsk> {
        vec![ExternalPsk::new(
            b"device".to_vec(),
            vec![7; 32].into(),
            CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
        )]
    }

    pub fn client() -> ClientConfig {
        client_with(Arc::new(NoCertificates))
    }

    pub fn server() -> Result<ServerConfig, Error> {
        let mut config = ServerConfig::new(PROVIDER, Vec::new());
        config.external_psks = psks();
        config.record_size_limit = Some(RECORD);
        config.limits = LIMITS;
        Ok(config)
    }
}

#[cfg(feature = "p256")]
pub use crate::chains::client;
#[cfg(not(feature = "p256"))]
use by_psk::psks;
#[cfg(not(feature = "p256"))]
pub use by_psk::{client, server};

#[cfg(feature = "p256")]
pub fn server() -> Result<ServerConfig, Error> {
    crate::chains::CHAIN.server()
}

#[cfg(feature = "p256")]
fn psks() -> Vec<ExternalPsk> {
    Vec::new()
}
