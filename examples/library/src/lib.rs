//! Shared by the programs of `docs/library.md`: configurations from PEM files, caches of certificates, and the messages
//! of a gRPC service.
#![forbid(unsafe_code)]

pub mod cached_certificates;
pub mod greeter;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::{SettingFile, credential, trust};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore};
use tessera_vault::{MemoryVault, RotatingRing};

/// A server's end: its certificate with those of intermediate authorities, and its private key.
pub fn acceptor(chain: &Path, key: &Path) -> Result<Acceptor, Box<dyn Error>> {
    let provider = tessera_aws_lc::provider();
    let chain = SettingFile { setting: "chain", path: chain };
    let key = SettingFile { setting: "key", path: key };
    let mut config = ServerConfig::new(provider, vec![credential::load(chain, key)?]);
    config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Lets clients resume: tickets, under keys that rotate by themselves.
    config.tickets = Some(Arc::new(RotatingRing::new(&provider)));
    // Lets them send a request in the first flight, accepted at most once: one-time keys.
    let vault = Arc::new(MemoryVault::new(100_000));
    config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault));
    Ok(Acceptor::new(config.checked()?))
}

/// A client's end: the authorities that it trusts.
pub fn connector(roots: &Path) -> Result<Connector, Box<dyn Error>> {
    // For servers of the public web: `tessera_tokio::system_verifier()`.
    let verifier = trust::roots(SettingFile { setting: "roots", path: roots })?;
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
    config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Early data is off by default: only an application knows whether its first bytes may be sent early.
    config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let sessions = Arc::new(MemorySessionStore::default());
    Ok(Connector::new(config.checked()?).with_sessions(sessions))
}
