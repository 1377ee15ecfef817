//! Certificate verification for Tessera on devices with a fixed PKI: a [`PeerVerifier`](tessera::auth::PeerVerifier) that
//! reads certificates in place, and takes a few kilobytes of flash.
//!
//! Such a PKI has few authorities, known when the image is built: they issue in order, without revocation lists, with a
//! provider's algorithms (ECDSA with P-256 and SHA-256; Ed25519; RSA; ML-DSA). For the Web's PKI, use `tessera-webpki`.
//!
//! ```
//! use tessera_fixed_pki::{Anchor, Algorithms, FixedPkiVerifier};
//!
//! # fn verifier(root: &'static [u8], algorithms: Algorithms) -> Result<(), Box<dyn std::error::Error>> {
//! // An image has `include_bytes!("root.der")`, and `tessera_rustcrypto::HANDSHAKE_ALGORITHMS`.
//! let verifier = FixedPkiVerifier::new(vec![Anchor::certificate(root)?], algorithms)?;
//! # drop(verifier);
//! # Ok(())
//! # }
//! ```
//!
//! # What is checked
//!
//! In every certificate that is needed to reach an anchor:
//!
//! | | RFC 5280 |
//! |---|---|
//! | strict DER, read once; version 3; no unique identifiers | §4.1 |
//! | the same signature algorithm inside and outside | §4.1.1.2 |
//! | dates, unless the owner leaves them unchecked; they are read in any case | §4.1.2.5, §6.1.3 (a) (2) |
//! | each extension once; no unknown critical one; no name constraints, critical or not | §4.2, §4.2.1.10 |
//! | the next certificate presented, or an anchor, has the issuer's name, and its key made the signature | §6.1.3 (a) (1), (4) |
//! | issuers: basicConstraints with cA, pathLenConstraint; keyCertSign, if there is a key usage | §6.1.4 (k) to (n) |
//! | the end entity is no authority; digitalSignature, if there is a key usage (RFC 8446 §4.4.2.2), or with a key of ML-KEM keyEncipherment (RFC 9935 §5) | §4.2.1.3, §4.2.1.9 |
//! | serverAuth or clientAuth, if there is an extended key usage, of issuers too | §4.2.1.12 |
//!
//! Of an anchor, the name and the key decide, and of one that is a certificate, whether it may issue (§6.1.1 (d)). A peer
//! that presents an anchor itself needs no issuer. What follows the path to an anchor is ignored, as RFC 8446 §4.4.2 asks.
//!
//! A server must have the name asked for as a dNSName in subjectAltName (RFC 9525 §6): a wildcard is the whole leftmost
//! label, stands for one label, and for none directly below a top-level domain. The common name doesn't count.
//!
//! # Raw public keys
//!
//! [`PinnedKeyVerifier`] knows its peers by their keys (RFC 7250). It accepts what `tessera_webpki::PinnedKeyVerifier` accepts
//! that knows the same keys, with the same identities, and the same alerts but one: what is presented and isn't DER is an unknown
//! key here. It offers the schemes of the pinned keys alone.
//!
//! # Differences from `tessera-webpki`
//!
//! A peer that this verifier accepts is accepted by `tessera-webpki`, too, with the same identity, and what both refuse gets
//! the same alert; a chain with several defects may get the alert of another one. A test feeds both the same chains, and each
//! byte of them changed. This verifier refuses more:
//!
//! - intermediates that come in another order, or after others that aren't needed, and more than four;
//! - issuers whose key usage lacks keyCertSign, and malformed key usages;
//! - name constraints, whatever they allow;
//! - an extension twice, known or not, and a critical cRLDistributionPoints;
//! - malformed extended key usages and alternative names, also after one that fits;
//! - servers by IP address;
//! - keys of X25519, which `tessera-webpki` accepts as those of a KEM;
//! - anchors of version 1, or with critical extensions that it doesn't know.
//!
//! Neither checks revocation here: `tessera-webpki` does with lists.
//!
//! # Without a clock
//!
//! Without the time no peer is accepted, unless the owner chose
//! [`without_checking_dates`](FixedPkiVerifier::without_checking_dates).
//!
//! # Features
//!
//! - `kems`: after `accepting_kems`, or if such a key is pinned, peers with keys of ML-KEM, which decapsulate instead of
//!   signing; and `kem_public_key`, for clients that know their server's key.
//! - `known-chains`: `KnownChains` is a verifier that recognises the chains it accepted before, without `std`.
//! - `reasons`, on by default: rejections have the reason in words, besides the alert.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod algorithms;
mod anchor;
mod certificate;
mod clients;
mod defect;
mod der;
mod error;
#[cfg(feature = "kems")]
mod kems;
#[cfg(feature = "known-chains")]
mod known;
mod names;
mod path;
mod pinned_keys;
mod proof;
mod time;
mod verifier;

pub use algorithms::Algorithms;
pub use anchor::Anchor;
pub use defect::Defect;
pub use error::ConfigError;
#[cfg(feature = "kems")]
pub use kems::kem_public_key;
#[cfg(feature = "known-chains")]
pub use known::KnownChains;
pub use path::MAX_CERTIFICATES;
pub use pinned_keys::{PinnedKey, PinnedKeyVerifier};
#[cfg(feature = "known-chains")]
pub use tessera_known_chains::{ChainStore, StoreBounds, StoreCounts, StoreError};
pub use verifier::FixedPkiVerifier;
