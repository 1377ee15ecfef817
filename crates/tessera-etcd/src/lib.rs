//! What a fleet of Tessera servers keeps together in etcd.
//!
//! - [`EtcdVault`] holds the one-time keys of forward-secret 0-RTT: a ticket of one server opens at every
//!   other, once. A take is one transaction, which raft puts into one order for all members: of all takes
//!   of a key one wins, over partitions, elections and restarts.
//! - [`EtcdRing`] shares ticket keys and rotates them: a key seals nothing before every live server has
//!   it.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime, UNIX_EPOCH};
//!
//! use tessera::ServerConfig;
//! use tessera::resume::OneTimeKeyGuard;
//! use tessera_etcd::{EtcdClient, EtcdRing, EtcdVault, RingOptions, Transport, VaultOptions};
//! use tessera_tokio::{Acceptor, Connector};
//! use tessera_vault::{EpochKey, WrappingKeys, WrappingPurpose};
//!
//! # fn load(_: &str) -> Vec<u8> { Vec::new() }
//! # async fn example(mut config: ServerConfig, etcd: Connector) -> Result<(), Box<dyn std::error::Error>> {
//! let provider = tessera_aws_lc::provider();
//! let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
//! let endpoints = (1..=3).map(|member| format!("etcd-{member}.example:2379")).collect();
//! let transport = Transport::Tls { connector: etcd, server_name: "etcd.example".into() };
//! let client = EtcdClient::new(endpoints, transport, Duration::from_millis(250));
//!
//! // The same on all servers, and never in etcd. Epoch keys come and go: `add` the next one in time.
//! let wrapping = WrappingKeys::new(&provider, WrappingPurpose::TicketKeys);
//! let secret: [u8; 32] = load("ring wrapping key").as_slice().try_into()?;
//! wrapping.add(EpochKey::forever([1; 16], secret.into()), now)?;
//! let epochs = Arc::new(WrappingKeys::new(&provider, WrappingPurpose::Secrets));
//! epochs.add(EpochKey::decode(&load("epoch key")).ok_or("no epoch key")?, now)?;
//!
//! let options = RingOptions::new("/tessera/ring/");
//! let ring = EtcdRing::open(client.clone(), &provider, Arc::new(wrapping), options);
//! let ring = ring.map_err(|_| "no random bytes")?;
//! let options = VaultOptions::new("/tessera/vault/");
//! let vault = Arc::new(EtcdVault::open(client, &provider, epochs, options));
//!
//! config.tickets = Some(ring.keys());
//! config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault.clone()));
//! let acceptor = Acceptor::new(config.checked()?).with_answers(vault);
//! # drop((acceptor, ring));
//! # Ok(())
//! # }
//! ```
//!
//! # What etcd is trusted with
//! Nothing that it stores is readable without keys that it never sees: values are wrapped, secrets under
//! epoch keys, ticket keys under a wrapping key. etcd keeps everything that was ever written, in its
//! history until it is compacted and in its write-ahead log for longer. So **forward secrecy of a one-time
//! key begins not at its take, but when the last server has destroyed the epoch key**
//! ([`WrappingKeys::purge`](tessera_vault::WrappingKeys::purge)). A vault in the memory of one server has
//! neither that limit nor the way to etcd and back.
//!
//! Ids of secrets and names of clients are stored as hashes: an attacker who guesses the name of a client
//! can see how many tickets it has.
//!
//! etcd is trusted to be etcd: a writer can bring back a key that was taken. Reach it by
//! [`Transport::Tls`] with a client certificate, and keep backups of it away from servers: a cluster that
//! is restored from a backup brings taken keys back, so destroy the epoch keys first.
//!
//! # What etcd needs
//! Version 3.4, or 3.5.6 and later, on disks that are quick to synchronise: each put and each take waits for
//! them. In 3.5.0 to 3.5.5 a member that crashes can come to differ from the others, and give out again what
//! was taken.
//! Compaction has to be on (`--auto-compaction-mode=periodic --auto-compaction-retention=10m`), or its
//! history grows until etcd refuses all writes. Clocks of servers may differ by five minutes from the true
//! time in either direction.
//!
//! # What fails, and how
//! Every operation has a deadline. A put that fails costs a client its early data. A take without an
//! answer is [`Unavailable`](tessera::resume::Taken::Unavailable), never asked again, and never
//! accepted: the client learns that nobody knows. The ring goes on with the keys that it has.
#![forbid(unsafe_code)]

mod api;
mod client;
mod connection;
mod ring;
mod vault;
mod witness;

pub use client::{EtcdClient, EtcdError};
pub use connection::Transport;
pub use ring::{EtcdRing, RingOptions, RingStatus};
pub use vault::{EtcdVault, VaultOptions};
pub use witness::EtcdWitness;
