//! Tessera's cryptography on AWS-LC: the provider for servers and desktops.
//!
//! [`provider`] returns everything that the engine needs; [`SigningKey`] signs with the key of a
//! certificate, and [`KemKey`] decapsulates with one. It builds with a C compiler alone.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use tessera::ServerConfig;
//! use tessera::auth::{Credential, PrivateKey};
//! use tessera_aws_lc::SigningKey;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let chain = vec![std::fs::read("certificate.der")?];
//! let key = SigningKey::from_pkcs8(&std::fs::read("key.der")?)?;
//! let credential = Credential::new(chain, PrivateKey::Signs(Arc::new(key)));
//! let config = ServerConfig::new(tessera_aws_lc::provider(), vec![credential]);
//! # drop(config);
//! # Ok(())
//! # }
//! ```
//!
//! # The first connection of a process
//!
//! AWS-LC's generator seeds itself on first use. In its usual build it measures the jitter of
//! the processor for that: 25 to 100 ms. The first call of [`provider`] uses the generator, so that making a
//! configuration takes this time and no handshake does. Built with `AWS_LC_SYS_NO_JITTER_ENTROPY=1` in the
//! environment, which a program can set in its `.cargo/config.toml`, AWS-LC takes its seeds only from the operating
//! system, in less than a tenth of a millisecond; the program `tessera` is built so.
//!
//! # Key pairs made ahead
//!
//! [`provider_with_keys_ahead`] takes key pairs that its owner made while there was nothing else to do:
//!
//! ```no_run
//! use std::thread;
//! use std::time::Duration;
//!
//! use tessera_aws_lc::{FillStep, KeyCounts, provider_with_keys_ahead};
//!
//! let (provider, ahead) = provider_with_keys_ahead();
//! thread::spawn(move || loop {
//!     // For a burst of 64 handshakes.
//!     while ahead.fill(KeyCounts::of_server(64)) == FillStep::Made {}
//!     thread::sleep(Duration::from_millis(20));
//! });
//! # drop(provider);
//! ```
//!
//! # SHA-256
//!
//! Where the processor has instructions for SHA-256, transcripts and HMAC-SHA-256 run on the crate `sha2`, whose states can be
//! kept; AWS-LC sets up and cleanses a context for each result. Elsewhere AWS-LC computes them.
//!
//! # Features
//!
//! `graviola`, on by default: X25519 with a one-time key from the vault runs on Graviola if the
//! processor supports it, which saves a tenth of the instructions of a forward-secret handshake.
//! Without the feature, or on another processor, AWS-LC does all the work, with the same results.
#![forbid(unsafe_code)]

mod aead;
mod ahead;
mod dh;
mod expanded;
mod hash;
mod hmac_sha256;
mod hybrid;
mod kem;
mod kem_key;
mod key_info;
mod key_rejected;
mod one_time;
mod pss_key;
mod random;
#[cfg(all(feature = "graviola", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod scalar_mult;
mod sign;
mod stack_depth;

use tessera::crypto::{KeyAgreement, Provider, Suite};
use tessera::wire::CipherSuite;

use hybrid::{ONE_TIME_X25519_ML_KEM_768, X25519_ML_KEM_768};
use stack_depth::STACK_DEPTH;

pub use ahead::{FillStep, KeyCounts, KeyKind, KeyUsage, KeysAhead};
pub use kem_key::KemKey;
pub use key_rejected::KeyRejected;
pub use sign::SigningKey;

/// Returns the provider: all suites and one-time key kinds of this crate and the groups that peers commonly
/// support, the preferred ones first. The first call of a process seeds the generator: see the page of the
/// crate.
pub fn provider() -> Provider {
    random::seed();
    PROVIDER
}

/// Returns the provider with groups that only some policies require, after the others: P-521 and ML-KEM-1024.
pub fn provider_with_rare_groups() -> Provider {
    random::seed();
    Provider { groups: RARE_TOO, ..PROVIDER }
}

/// Returns the provider that takes key pairs made ahead, and the handle by which its owner makes them in idle time. Whenever
/// there are none, it makes them on demand like [`provider`].
pub fn provider_with_keys_ahead() -> (Provider, KeysAhead) {
    random::seed();
    let provider =
        Provider { groups: ahead::GROUPS, one_time_keys: ahead::ONE_TIME_KEYS, ..PROVIDER };
    (provider, KeysAhead::THE_PROCESS)
}

static RARE_TOO: &[&dyn KeyAgreement] = &[
    &X25519_ML_KEM_768,
    &dh::X25519,
    &dh::P256,
    &dh::P384,
    &kem::ML_KEM_768,
    &dh::P521,
    &kem::ML_KEM_1024,
];

static PROVIDER: Provider = Provider {
    suites: &[&AES_128_GCM_SHA256, &AES_256_GCM_SHA384, &CHACHA20_POLY1305_SHA256],
    groups: &[&X25519_ML_KEM_768, &dh::X25519, &dh::P256, &dh::P384, &kem::ML_KEM_768],
    one_time_keys: &[&ONE_TIME_X25519_ML_KEM_768, &one_time::X25519],
    kems: &[&kem::ML_KEM_512, &kem::ML_KEM_768, &kem::ML_KEM_1024, &dh::X25519, &X25519_ML_KEM_768],
    random: &random::AwsLc,
    stack_depth: STACK_DEPTH,
};

static AES_128_GCM_SHA256: Suite =
    Suite::new(CipherSuite::TLS_AES_128_GCM_SHA256, &hash::SHA256, &aead::AES_128_GCM);

static AES_256_GCM_SHA384: Suite =
    Suite::new(CipherSuite::TLS_AES_256_GCM_SHA384, &hash::SHA384, &aead::AES_256_GCM);

/// The record number would wrap before a limit is reached (RFC 8446 §5.5).
static CHACHA20_POLY1305_SHA256: Suite =
    Suite::new(CipherSuite::TLS_CHACHA20_POLY1305_SHA256, &hash::SHA256, &aead::CHACHA20_POLY1305)
        .with_confidentiality_limit(u64::MAX);
