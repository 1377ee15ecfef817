//! What a fleet of Tessera servers keeps together in etcd.
//!
//! - [`EtcdVault`] holds the one-time keys of forward-secret 0-RTT: a ticket of one server opens at every
//!   other, once. A take is one transaction, which raft puts into one order for all members: of all takes
//!   of a key one wins, over partitions, elections and restarts.
//! - [`EtcdRing`] shares ticket keys and rotates them: a key seals nothing before every live server has
//!   it.
//!
//! # What etcd is trusted with
//! Nothing that it stores is readable without keys that it never sees: values are wrapped, secrets under
//! epoch keys, ticket keys under a wrapping key. etcd keeps everything that was ever written, in its
//! history until it is compacted and in its write-ahead log for longer. So **forward secrecy of a one-time
//! key begins not at its take, but when the last server has destroyed the epoch key**
//! ([`WrappingKeys::purge`](tessera_vault::WrappingKeys::purge)). A vault in the memory of one server has
//! neither that limit nor the way to etcd and back.
//!
//! etcd is trusted to be etcd: who can write to it can bring back a key that was taken. Reach it by
//! [`Transport::Tls`] with a client certificate, and keep backups of it away from servers: a cluster that
//! is restored from a backup brings taken keys back, so destroy the epoch keys first.
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

pub use client::{EtcdClient, EtcdError};
pub use connection::Transport;
pub use ring::{EtcdRing, RingOptions, RingStatus};
pub use vault::{EtcdVault, VaultOptions};
