//! Ends that share an external PSK.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use tessera::auth::NoCertificates;
use tessera::resume::ExternalPsk;
use tessera::wire::CipherSuite;
use tessera::{ClientConfig, Error, ServerConfig};

use crate::settings::{client_with, server_with};

pub(crate) fn psks() -> Vec<ExternalPsk> {
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
    let mut config = server_with(Vec::new());
    config.external_psks = psks();
    Ok(config)
}
