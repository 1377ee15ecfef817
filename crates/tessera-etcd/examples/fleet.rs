//! One server of a fleet that keeps its ticket keys and one-time keys in etcd.
//!
//! ```text
//! etcd &
//! cargo run -p tessera-etcd --example fleet -- 127.0.0.1:2379
//! ```
//!
//! It accepts several endpoints. Start it several times: each new server lists the same ticket keys.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::ServerConfig;
use tessera::resume::{OneTimeKeyGuard, Vault};
use tessera_etcd::{EtcdClient, EtcdVault, Transport, VaultOptions};
use tessera_ring::{FleetRing, RingOptions};
use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let endpoints: Vec<String> = std::env::args().skip(1).collect();
    if endpoints.is_empty() {
        return Err("give the endpoints of etcd, each as HOST:PORT".into());
    }
    let provider = tessera_aws_lc::provider();
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;

    // Only for a network without other users, such as this machine's loopback. Elsewhere: `Transport::Tls`.
    let transport = Transport::PlaintextOnPrivateNetwork;
    let client = EtcdClient::new(endpoints, transport, Duration::from_millis(250));

    // Wrapping keys are the same on all servers, and never in etcd. These are for this example only.
    let wrapping = WrappingKeys::new(&provider, WrappingPurpose::TicketKeys);
    wrapping.add(EpochKey::forever([1; 16], [1; 32].into()), now)?;
    let epochs = WrappingKeys::new(&provider, WrappingPurpose::Secrets);
    epochs.add(EpochKey::forever([2; 16], [2; 32].into()), now)?;

    let options = RingOptions::new("/tessera/example/ring/");
    let store = Arc::new(client.clone());
    let (ring, keys) = FleetRing::of_server(store, &provider, Arc::new(wrapping), options)
        .map_err(|_| "no random bytes")?;
    let options = VaultOptions::new("/tessera/example/vault/");
    let vault = Arc::new(EtcdVault::open(client, &provider, Arc::new(epochs), options));

    // The acceptor of this configuration needs the vault for its answers: `Acceptor::new(..).with_answers(vault)`.
    let mut config = ServerConfig::new(provider, Vec::new());
    config.tickets = Some(keys);
    config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault.clone()));

    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let status = ring.status();
        let active: Vec<u8> = status.active.iter().map(|key| key.id[0]).collect();
        println!(
            "looks: {}; ticket keys (first byte of each): {active:02x?}; one-time keys: {}",
            status.looks,
            vault.len()
        );
        if !active.is_empty() {
            return Ok(());
        }
    }
    Err("no ticket key in ten seconds: is etcd there?".into())
}
