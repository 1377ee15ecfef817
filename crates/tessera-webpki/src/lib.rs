//! Certificate verification for Tessera, on [rustls-webpki](webpki).
//!
//! [`WebPkiVerifier`] implements [`tessera::auth::PeerVerifier`]: it builds the chain to a trust anchor,
//! checks validity, key usage, extended key usage, server name and revocation, and checks the
//! CertificateVerify signature with the end entity's key, or returns the key of a KEM. `KnownChains` wraps it: for chains
//! that it has accepted before, it only checks the dates and the signature. [`PinnedKeyVerifier`] identifies peers by
//! their public keys instead (RFC 7250). All answer at once, never later.
//!
//! ```no_run
//! use tessera_webpki::{UnknownStatus, WebPkiVerifier};
//!
//! # #[cfg(not(feature = "aws-lc"))]
//! # fn main() {}
//! # #[cfg(feature = "aws-lc")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let root = std::fs::read("root.der")?;
//! let crl = std::fs::read("root.crl")?;
//! let verifier = WebPkiVerifier::new(&[root])?.with_crls(&[crl], UnknownStatus::Reject)?;
//! # drop(verifier);
//! # Ok(())
//! # }
//! ```
//!
//! Two things are out of scope. webpki checks neither OCSP responses nor SCTs, so the verifier requests
//! neither; your own verifier around it can request them ([`PeerVerifier::entry_extensions`]), check them,
//! and delegate the rest. And the validity of a trust anchor that vouches for others is not checked: its
//! owner decided to trust it (RFC 5280 §6.1.1 uses only its name, key and constraints).
//!
//! A trust anchor that is not an authority's (without basicConstraints' cA, unless it is of version 1) does
//! not vouch for others. Every anchor vouches for itself: a peer whose own certificate is one, byte for byte,
//! needs no other, though its validity, its uses and its names are checked as always.
//!
//! [`PeerVerifier::entry_extensions`]: tessera::auth::PeerVerifier::entry_extensions
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod accepted;
mod alerts;
mod algorithms;
mod anchors;
mod error;
mod expiry;
mod extensions;
mod identity;
mod kems;
mod key_usage;
#[cfg(feature = "known-chains")]
mod known;
mod names;
mod peer_proof;
mod pinned_keys;
#[cfg(feature = "aws-lc")]
mod pss_key;
mod revocation;
mod verifier;

pub use algorithms::Algorithms;
pub use error::ConfigError;
pub use expiry::expires_at;
pub use identity::IdentityName;
pub use kems::{kem_public_key, kem_public_key_of_certificate};
#[cfg(feature = "known-chains")]
pub use known::KnownChains;
pub use names::{dns_names, issuers, subject_names};
pub use pinned_keys::{PinnedKey, PinnedKeyVerifier};
pub use revocation::UnknownStatus;
#[cfg(feature = "known-chains")]
pub use tessera_known_chains::{ChainStore, StoreBounds, StoreCounts, StoreError};
pub use verifier::WebPkiVerifier;
