//! Shared by the programs of `docs/library.md`: configurations from PEM files, caches of certificates, ends that
//! authenticate with KEMs, a client that moves, and the messages of a gRPC service.
#![forbid(unsafe_code)]

pub mod cached_certificates;
pub mod greeter;
pub mod kem_authentication;
pub mod moving_client;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::{SettingFile, credential, trust};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore};
use tessera_vault::{MemoryVault, RotatingRing};

/// Returns a server's acceptor, for its certificate (with those of intermediate authorities) and its private key.
pub fn acceptor(chain: &Path, key: &Path) -> Result<Acceptor, Box<dyn Error>> {
    let provider = tessera_aws_lc::provider();
    let chain = SettingFile { setting: "chain", path: chain };
    let key = SettingFile { setting: "key", path: key };
    let mut config = ServerConfig::new(provider, vec![credential::load(chain, key)?]);
    config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Lets clients resume, with tickets under keys that rotate automatically.
    config.tickets = Some(Arc::new(RotatingRing::new(&provider)));
    // Lets clients send early data that is accepted at most once, under one-time keys.
    let vault = Arc::new(MemoryVault::new(100_000));
    config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault));
    Ok(Acceptor::new(config.checked()?))
}

/// Returns a client's connector, which trusts these authorities.
pub fn connector(roots: &Path) -> Result<Connector, Box<dyn Error>> {
    // For servers on the public web, use `tessera_tokio::system_verifier()`.
    let verifier = trust::roots(SettingFile { setting: "roots", path: roots })?;
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
    config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Early data is off by default: only an application knows whether its first bytes may be sent early.
    config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let sessions = Arc::new(MemorySessionStore::default());
    Ok(Connector::new(config.checked()?).with_sessions(sessions))
}
