//! Certificate verification for Tessera, on [rustls-webpki](webpki).
//!
//! [`WebPkiVerifier`] implements [`tessera::auth::PeerVerifier`]: it builds the chain to a trust
//! anchor, checks validity, key usage, extended key usage, server name and revocation, and checks the
//! CertificateVerify signature with the end entity's key. [`KnownChains`] around it knows the chains again
//! that it accepted, and checks of those the dates and the signature alone. [`PinnedKeyVerifier`] knows peers by their
//! public keys instead (RFC 7250). All answer at once, never later.
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
//! Two things are outside of it. webpki checks neither OCSP responses nor SCTs, so the verifier asks
//! for neither; a verifier of yours that wraps it can ask ([`PeerVerifier::entry_extensions`]), check what
//! comes, and leave the rest to it. And the validity of a trust anchor is not checked where it vouches for
//! others: an anchor is trusted because its owner decided it (RFC 5280 §6.1.1 takes only its name, key and
//! constraints).
//!
//! A trust anchor that is no authority's (without basicConstraints' cA, unless it is of version 1) vouches for
//! nobody else. Every anchor vouches for itself: a peer whose own certificate is one, byte for byte, needs no
//! other, though its validity, its uses and its names are checked as everybody's.
//!
//! [`PeerVerifier::entry_extensions`]: tessera::auth::PeerVerifier::entry_extensions
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod alerts;
mod algorithms;
mod anchors;
mod error;
mod expiry;
mod extensions;
mod identity;
mod key_usage;
#[cfg(feature = "std")]
mod known;
mod names;
mod pinned_keys;
#[cfg(feature = "aws-lc")]
mod pss_key;
mod revocation;
mod verifier;

pub use algorithms::Algorithms;
pub use error::ConfigError;
pub use expiry::expires_at;
#[cfg(feature = "std")]
pub use known::{ChainStore, KnownChains, StoreBounds, StoreCounts};
pub use names::{dns_names, issuers};
pub use pinned_keys::{PinnedKey, PinnedKeyVerifier};
pub use revocation::UnknownStatus;
pub use verifier::WebPkiVerifier;
