//! Keeps the shared state of a fleet of Tessera servers in etcd.
//!
//! - [`EtcdVault`] holds the one-time keys of forward-secret 0-RTT: a ticket of one server opens at every other, once.
//!   A take is one transaction, and raft orders transactions for all members: of all takes of a key one wins, across
//!   partitions, elections and restarts.
//! - [`EtcdClient`] is a [`Store`](tessera_store::Store): `tessera-ring` keeps the ticket keys of a fleet there. The
//!   feature `gateway` serves other stores to it, such as a file on one of few machines.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime, UNIX_EPOCH};
//!
//! use tessera::ServerConfig;
//! use tessera::resume::OneTimeKeyGuard;
//! use tessera_etcd::{EtcdClient, EtcdVault, Transport, VaultOptions};
//! use tessera_ring::{FleetRing, RingOptions};
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
//! let store = Arc::new(client.clone());
//! let ring = FleetRing::of_server(store, &provider, Arc::new(wrapping), options);
//! let (ring, keys) = ring.map_err(|_| "no random bytes")?;
//! let options = VaultOptions::new("/tessera/vault/");
//! let vault = Arc::new(EtcdVault::open(client, &provider, epochs, options));
//!
//! config.tickets = Some(keys);
//! config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault.clone()));
//! let acceptor = Acceptor::new(config.checked()?).with_answers(vault);
//! # drop((acceptor, ring));
//! # Ok(())
//! # }
//! ```
//!
//! # What etcd is trusted with
//! Its contents are unreadable without keys that it never sees: values are wrapped, secrets under epoch keys, ticket
//! keys under a wrapping key. etcd retains everything that was ever written: in its history until compaction, and in
//! its write-ahead log for longer. So **forward secrecy of a one-time key begins not at its take, but when the last
//! server has destroyed the epoch key** ([`WrappingKeys::purge`](tessera_vault::WrappingKeys::purge)). A vault in one
//! server's memory has neither that limit nor the round trip to etcd.
//!
//! Ids of secrets and names of clients are stored as hashes: an attacker who guesses a client's name can see how many
//! tickets it has.
//!
//! etcd is trusted to behave: a writer can restore a key that was taken. Reach it by [`Transport::Tls`] with a client
//! certificate, and keep its backups away from servers: a cluster restored from a backup brings taken keys back, so
//! destroy the epoch keys first.
//!
//! # What etcd needs
//! Version 3.4, or 3.5.6 and later, on disks that synchronise quickly: each put and each take waits for them. In 3.5.0
//! to 3.5.5 a member that crashes can diverge from the others, and return again what was taken. Compaction must be on
//! (`--auto-compaction-mode=periodic --auto-compaction-retention=10m`), or the history grows until etcd rejects all
//! writes. Clocks of servers may differ by five minutes from the true time in either direction.
//!
//! # Failures
//! Every operation has a deadline. A put that fails costs a client its early data. A take without an answer is
//! [`Unavailable`](tessera::resume::TakeAnswer::Unavailable): it is never repeated, and the flight is never accepted;
//! the client learns that the outcome is unknown. The ring continues with the keys that it has.
#![forbid(unsafe_code)]

mod api;
mod client;
mod connection;
#[cfg(feature = "gateway")]
pub mod gateway;
mod store;
mod vault;

pub use client::EtcdClient;
pub use connection::Transport;
pub use tessera_store::StoreError;
pub use vault::{EtcdVault, VaultOptions};
