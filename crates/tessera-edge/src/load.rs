//! What a configuration names: the store, the keys, the services.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tessera_bindings::PoolSettings;
use tessera_kit::{KeySource, ProgramError, credential};
use tessera_proxy::http::body::BodyLimits;
use tessera_proxy::http::client::{Connect, Plaintext, Pool, PoolOptions, Protocol, Target, Tls};
use tessera_proxy::stores::{etcd_client, one_wrapping_key, open_store};
use tessera_store::Store;
use tessera_tokio::{Connector, MemorySessionStore};
use tessera_vault::{WrappingKeys, WrappingPurpose};
use zeroize::Zeroizing;

use crate::config::{EdgeConfig, NamedBy, PoolSection, ServiceSection};
use crate::services::{Service, Services};
use crate::tls;

/// How long a request to etcd may take: a client's first request waits for it.
const DEADLINE: Duration = Duration::from_millis(500);

/// Opens the store. In etcd it need not be reached now. Blocks for a moment with a file.
pub(crate) fn store(pool: &PoolSection) -> Result<Arc<dyn Store>, ProgramError> {
    open_store("pool", pool.etcd.as_ref(), pool.file.as_deref(), DEADLINE)
}

/// Reads the files of the store's section, without connecting.
pub(crate) fn check_store(pool: &PoolSection) -> Result<(), ProgramError> {
    let etcd = pool.etcd.as_ref();
    etcd.map(|etcd| etcd_client("pool", etcd, DEADLINE)).transpose().map(drop)
}

/// Reads the pool's key, for a purpose.
pub(crate) fn pool_keys(
    key: &KeySource,
    purpose: WrappingPurpose,
) -> Result<WrappingKeys, ProgramError> {
    let key = key.read("[pool] key", "pool", Path::new(""))?;
    one_wrapping_key("[pool] key", purpose, KEY_ID, &key)
}

/// Returns a digest of the pool's key, from which the key can't be found: proxies with different keys notice it.
fn pool_key_digest(key: &KeySource) -> Result<String, ProgramError> {
    let key = key.read("[pool] key", "pool", Path::new(""))?;
    let labelled =
        Zeroizing::new([&b"tessera edge: digest of the pool's key"[..], &key[..]].concat());
    let digest = credential::fingerprint(&labelled);
    Ok(digest.chars().take(16).collect())
}

/// There is one key, replaced only while all proxies are down: its id carries no information.
const KEY_ID: [u8; 16] = *b"edge pool key\0\0\0";

/// Returns what the other proxies must have too.
pub(crate) fn pool_settings(edge: &EdgeConfig) -> Result<PoolSettings, ProgramError> {
    let (pool, clients) = (&edge.pool, &edge.clients);
    let settings = PoolSettings::of_times(pool.ma, &pool.times())
        .with("[pool] key (digest)", pool_key_digest(&pool.key)?);
    Ok(match clients.named_by {
        NamedBy::Nothing => settings.with(NAMED_BY, "nothing"),
        NamedBy::Certificate => settings.with(NAMED_BY, "certificate"),
        NamedBy::Cookie => {
            settings.with(NAMED_BY, "cookie").with("[clients] cookie", &clients.cookie[..])
        }
    })
}

const NAMED_BY: &str = "[clients] named-by";

/// Prepares the services, with their pools. Nothing is connected yet.
pub(crate) fn services(edge: &EdgeConfig) -> Result<Services, ProgramError> {
    let services = edge.service.iter().map(|(name, section)| {
        let instances = instances(name, section, edge)?;
        Ok(Service::new(name, section, instances))
    });
    services.collect::<Result<_, ProgramError>>().map(Services::new)
}

fn instances(
    name: &str,
    section: &ServiceSection,
    edge: &EdgeConfig,
) -> Result<Pool, ProgramError> {
    let connect: Arc<dyn Connect> = match &section.ca {
        None if section.http2 => Arc::new(Plaintext(Protocol::Http2)),
        None => Arc::new(Plaintext(Protocol::Http1)),
        Some(ca) => {
            let config = tls::for_instances(name, ca)?;
            let sessions = Arc::new(MemorySessionStore::default());
            let upgrades = Connector::new(tls::for_upgrades(name, ca)?);
            let tls =
                Tls::new(Connector::new(config).with_sessions(sessions)).for_upgrades(upgrades);
            match &section.server_name {
                Some(server_name) => Arc::new(tls.named(server_name.clone())),
                None => Arc::new(tls),
            }
        }
    };
    let target = |instance: &crate::config::InstanceSection| Target {
        address: instance.address.clone(),
        priority: instance.rank,
        weight: instance.weight,
    };
    let targets: Vec<_> = section.instances.iter().map(target).collect();
    let options = PoolOptions {
        connections: if section.http2 { 8 } else { CONNECTIONS },
        connect: section.connect,
        body: BodyLimits { max_len: u64::MAX, idle: edge.limits.body_idle },
        ..PoolOptions::default()
    };
    Ok(Pool::new(connect, targets, options))
}

/// Connections of HTTP/1.1 to the instances of a service: each carries one request at a time.
const CONNECTIONS: usize = 512;
