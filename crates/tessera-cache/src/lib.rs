//! Certificates that are sent once: caches of peers' chains for Tessera (TLS 1.3), in both directions.
//!
//! In a full handshake the certificates are most of the data: kilobytes, and with post-quantum signatures up
//! to fifteen per side. Two ends that have met before need not send them again. With a [`ClientCache`] and a
//! [`ServerCache`] in their configurations, each sends 44 bytes in place of a chain that the other knows: a
//! CompressedCertificate (RFC 8879) with its hash. Everything else is a full handshake, with its security:
//! nothing is resumed, the signatures are checked, and they cover the hash that stands for the chain.
//!
//! ```
//! use std::sync::Arc;
//! use tessera_cache::{ClientCache, ServerCache};
//!
//! # fn configure(client: &mut tessera::ClientConfig, server: &mut tessera::ServerConfig)
//! #     -> Result<(), tessera_cache::ProviderError> {
//! client.certificate_codecs.insert(0, Arc::new(ClientCache::new(&client.provider)?));
//! server.certificate_codecs.insert(0, Arc::new(ServerCache::new(&server.provider)?));
//! # Ok(())
//! # }
//! ```
//!
//! Make one cache for a program, not one for each configuration, and put it before compression, which then
//! serves first contacts.
//!
//! # What is on the wire
//!
//! - The **server's chain**: the client lists one number for each chain that it knows of this server. The
//!   numbers are salted with the client's random: they change each time, and are noise to observers without
//!   the chain. An observer with the chain, which any client can get from the server, can compute them.
//! - The **client's chain**: the client sends a ticket of 8 bytes, which both ends derived from the secrets
//!   of an earlier handshake; the server finds the chain by it, and lists one number in its
//!   CertificateRequest. A ticket is sent only once, ever, so that an observer can't see that the same client
//!   returns. Next to the newest ticket, the client sends a spare of the handshake before, in case the server
//!   didn't see the end of the last one.
//! - An end that isn't known, or has another chain now, sends its Certificate as usual: no extra round trip.
//!
//! RFC 7924 and BiTHaC specify other forms for this, which reveal more to observers. The feature `paper` has them,
//! for comparison.
//!
//! A first contact costs 4 more bytes at each end. `docs/cached-handshakes.md` in the repository is the
//! specification.
//!
//! # Fleets of servers
//!
//! A ticket is found only in the cache that it belongs to. Servers of a fleet that share the keys of session
//! tickets can also send *fleet* tickets ([`ServerCache::with_fleet_tickets`]): each server that saw the
//! client once finds its chain in its own cache, wherever the client was in between.
//!
//! # What a cache is not
//!
//! **No trust.** A chain in a cache only saves sending its bytes; the verifier judges them each time as if
//! they had been sent. A verifier that remembers accepted chains (`KnownChains` of `tessera-known-chains`) need not
//! check everything again, and a cache used with it keeps hashes in place of chains:
//! [`ClientCache::with_chain_memory`], [`ServerCache::with_chain_memory`].
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bytes;
mod cache;
#[cfg(feature = "paper")]
mod carrier;
mod chain;
mod chain_hash;
mod client;
mod codec;
mod der;
mod error;
mod form;
mod ids;
mod lock;
mod metrics;
mod miss_reason;
#[cfg(test)]
mod mutated;
mod own_chains;
mod public_ids;
mod server;
#[cfg(test)]
mod vectors;
mod wire;
mod written;

pub use cache::Cache;
#[cfg(feature = "paper")]
pub use carrier::Carrier;
pub use chain_hash::ChainHash;
pub use client::{ClientCache, ClientLimits, Servers};
pub use error::{ImportError, ProviderError};
pub use metrics::Metrics;
pub use miss_reason::MissReason;
pub use public_ids::PublicIds;
#[cfg(feature = "measured")]
#[doc(hidden)]
pub use server::measured;
pub use server::{Clients, ServerCache, ServerLimits};
