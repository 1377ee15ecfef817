//! Tessera's cryptography on the [RustCrypto](https://github.com/RustCrypto) crates and curve25519-dalek: the provider
//! for devices without an operating system.
//!
//! [`provider`] returns everything that the engine needs. The device's owner supplies the random bytes, as a type:
//!
//! ```
//! use tessera::crypto::{Provider, RandomFailed};
//! use tessera_rustcrypto::RandomSource;
//!
//! /// The generator of the board.
//! struct Board;
//!
//! impl RandomSource for Board {
//!     fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
//!         # let _ = out;
//!         // Reads the peripheral; fails if its self-test does.
//!         Err(RandomFailed)
//!     }
//! }
//!
//! static PROVIDER: Provider = tessera_rustcrypto::provider::<Board>();
//! # assert!(!PROVIDER.suites.is_empty());
//! ```
//!
//! # Features
//!
//! An image links what its features name, and nothing else:
//!
//! | feature | brings | default |
//! |---|---|---|
//! | `chacha20poly1305` | TLS_CHACHA20_POLY1305_SHA256 | yes |
//! | `aes-gcm` | TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384 | yes |
//! | `x25519` | key agreement by X25519 | yes |
//! | `p256` | key agreement by secp256r1 | yes |
//! | `ml-kem` | key agreement by ML-KEM-768, with `x25519` also by X25519MLKEM768, and [`KemKey`] | yes |
//! | `ml-kem-512`, `ml-kem-1024` | the same with ML-KEM-512 and ML-KEM-1024; enable `ml-kem` | no |
//! | `one-time-experimental` | `experimental_one_time_provider`; enables `ml-kem` | no |
//! | `fo-skip-experimental` | `experimental_fo_skip_provider`; enables `ml-kem` | no |
//! | `ecdsa` | `SigningKey` and the verification of signatures with P-256 | yes |
//! | `rsa` | the verification of signatures with RSA-2048 to RSA-4096 and SHA-256, which takes some 8 KB of heap with RSA-2048 | no |
//! | `ml-dsa` | the verification of signatures with ML-DSA-44, which takes some 105 KB of stack | no |
//! | `ml-dsa-65`, `ml-dsa-87` | the same with ML-DSA-65 and ML-DSA-87, which take more; each enables `ml-dsa` | no |
//! | `ed25519` | the verification of signatures with Ed25519 | no |
//! | `falcon-pre-standard` | the verification of signatures with Falcon-512 and Falcon-1024, for experiments: see below | no |
//!
//! With any that verifies signatures, `HANDSHAKE_ALGORITHMS`, `CHAIN_ALGORITHMS` and `CHAIN_SCHEMES` are the lists that
//! `tessera_webpki::Algorithms` takes. RSASSA-PKCS1-v1_5 is in those for chains alone (RFC 8446 §4.2.3). What a verification
//! takes of the heap is not part of [`heap_needed`](tessera::ClientConfig::heap_needed).
//!
//! There are no one-time keys for early data: a device opens connections with forward-secret early data, but doesn't accept them.
//!
//! # Falcon before its standard
//!
//! FN-DSA (FIPS 206) is no standard yet. `falcon-pre-standard` verifies what version 0.4 of the crate `fn-dsa-vrfy` has, a
//! guess at it that its next version may change: **for experiments between ends of the same build**. Public keys (897 and
//! 1,793 bytes) and signatures (666 and 1,280 bytes: a header, a salt of 40 bytes, the compressed polynomial, padded) are
//! encoded as in Falcon's submission. What is hashed behind the salt is not the message, but 64 bytes of
//! SHAKE256(SHAKE256(public key) || 0 || 0 || message), where the inner hash has 64 bytes too. The first zero stands for a
//! message that is not hashed before (`HASH_ID_RAW`), the second for an empty context (`DOMAIN_NONE`), as in ML-DSA.
//!
//! It has no numbers yet. `FALCON512_PRE_STANDARD` (0xfedc) and `FALCON1024_PRE_STANDARD` (0xfedf), and in certificates
//! 1.3.9999.3.16 and 1.3.9999.3.19 without parameters, are those that Open Quantum Safe's provider has for that encoding
//! (falconpadded512 and falconpadded1024). Its signatures are not verified here, nor ours there: it hashes the message itself.
//!
//! # What is wiped
//!
//! Private keys, secrets, keyed ciphers and hashes wipe themselves when dropped. Copies stay on the stack: scalars of
//! X25519 and points of both curves, keys and secrets of ML-KEM that were moved, Poly1305's one-time key, AES's round keys
//! while they are computed. The engine overwrites those: it wipes the stack after each step down to the provider's
//! `stack_depth`. It doesn't where a program reads a [`KemKey`] or a `SigningKey` itself: call
//! [`wipe_stack_below`](tessera::crypto::wipe_stack_below) after that.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(not(any(feature = "chacha20poly1305", feature = "aes-gcm")))]
compile_error!("a suite is needed: enable `chacha20poly1305`, `aes-gcm` or both");
#[cfg(not(any(feature = "x25519", feature = "p256", feature = "ml-kem")))]
compile_error!("a key agreement is needed: enable `x25519`, `p256` or `ml-kem`");

mod aead;
#[cfg(feature = "aes-gcm")]
mod aes;
#[cfg(feature = "chacha20poly1305")]
mod chacha;
#[cfg(feature = "ecdsa")]
mod ecdsa;
#[cfg(feature = "ed25519")]
mod ed25519;
#[cfg(feature = "falcon-pre-standard")]
mod falcon;
#[cfg(feature = "fo-skip-experimental")]
mod fo_skip;
mod hash;
#[cfg(feature = "ml-kem")]
mod kem_key;
#[cfg(feature = "ml-dsa")]
mod ml_dsa;
#[cfg(feature = "ml-kem")]
mod ml_kem;
#[cfg(feature = "one-time-experimental")]
mod one_time_ml_kem;
#[cfg(feature = "p256")]
mod p256;
#[cfg(any(feature = "p256", feature = "ecdsa"))]
mod point;
mod random;
#[cfg(feature = "rsa")]
mod rsa;
#[cfg(feature = "ecdsa")]
mod sign;
mod stack_depth;
#[cfg(feature = "signatures")]
mod verify;
#[cfg(feature = "x25519")]
mod x25519;

#[cfg(all(feature = "ml-kem", feature = "x25519"))]
use tessera::crypto::Hybrid;
use tessera::crypto::{KeyAgreement, Provider, Random, Suite};
#[cfg(all(feature = "ml-kem", feature = "x25519"))]
use tessera::wire::NamedGroup;

#[cfg(feature = "fo-skip-experimental")]
use fo_skip::FoSkip;
#[cfg(feature = "ml-kem")]
use ml_kem::MlKem;
#[cfg(feature = "one-time-experimental")]
use one_time_ml_kem::OneTimeMlKem;
use random::Drawn;
use stack_depth::STACK_DEPTH;
#[cfg(feature = "x25519")]
use x25519::X25519;

#[cfg(feature = "ml-kem")]
pub use kem_key::KemKey;
pub use random::RandomSource;
#[cfg(feature = "ecdsa")]
pub use sign::{KeyRejected, SigningKey};
#[cfg(feature = "signatures")]
pub use verify::{CHAIN_ALGORITHMS, CHAIN_SCHEMES, HANDSHAKE_ALGORITHMS};

/// Returns the provider: the suites and groups of the enabled features, the preferred ones first. ChaCha20-Poly1305 comes
/// before AES, whose constant-time code takes five times as long without instructions for it.
pub const fn provider<R: RandomSource>() -> Provider {
    Provider {
        suites: SUITES,
        groups: Of::<R>::GROUPS,
        one_time_keys: &[],
        kems: Of::<R>::KEMS,
        random: Of::<R>::RANDOM,
        stack_depth: STACK_DEPTH,
    }
}

/// Returns the provider with one-time groups besides (`docs/one-time-kem.md`): **experimental, and not FIPS 203**. A
/// configuration offers and accepts those that its `groups` name; none does by default.
#[cfg(feature = "one-time-experimental")]
pub const fn experimental_one_time_provider<R: RandomSource>() -> Provider {
    Provider { groups: Of::<R>::GROUPS_AND_ONE_TIME, ..provider::<R>() }
}

/// Returns the provider whose clients open ciphertexts of ML-KEM without re-encryption (`docs/one-time-kem.md` §6):
/// **experimental, and not FIPS 203**. A configuration with KEM authentication refuses its groups.
#[cfg(feature = "fo-skip-experimental")]
pub const fn experimental_fo_skip_provider<R: RandomSource>() -> Provider {
    Provider { groups: Of::<R>::FO_SKIP, ..provider::<R>() }
}

static SUITES: &[&Suite] = &[
    #[cfg(feature = "chacha20poly1305")]
    &chacha::CHACHA20_POLY1305_SHA256,
    #[cfg(feature = "aes-gcm")]
    &aes::AES_128_GCM_SHA256,
    #[cfg(feature = "aes-gcm")]
    &aes::AES_256_GCM_SHA384,
];

/// The groups of the enabled features, the preferred ones first, with this ML-KEM; and then others.
macro_rules! groups {
    ($ml_kem:ident, $($others:tt)*) => {
        &[
            #[cfg(all(feature = "ml-kem", feature = "x25519"))]
            &hybrid(NamedGroup::X25519MLKEM768, &$ml_kem::<3, R>::NEW, &X25519::<R>::NEW),
            #[cfg(feature = "x25519")]
            &X25519::<R>::NEW,
            #[cfg(feature = "p256")]
            &p256::P256::<R>::NEW,
            #[cfg(feature = "ml-kem")]
            &$ml_kem::<3, R>::NEW,
            #[cfg(feature = "ml-kem-1024")]
            &$ml_kem::<4, R>::NEW,
            #[cfg(feature = "ml-kem-512")]
            &$ml_kem::<2, R>::NEW,
            $($others)*
        ]
    };
}

/// What draws from one source.
struct Of<R>(R);

impl<R: RandomSource> Of<R> {
    const RANDOM: &'static dyn Random = &Drawn::<R>::NEW;

    const GROUPS: &'static [&'static dyn KeyAgreement] = groups!(MlKem,);

    #[cfg(feature = "one-time-experimental")]
    const GROUPS_AND_ONE_TIME: &'static [&'static dyn KeyAgreement] = groups!(
        MlKem,
        #[cfg(feature = "x25519")]
        &hybrid(
            NamedGroup::EXPERIMENTAL_ONE_TIME_X25519MLKEM768,
            &OneTimeMlKem::<3, R>::NEW,
            &X25519::<R>::NEW,
        ),
        &OneTimeMlKem::<3, R>::NEW,
        #[cfg(feature = "ml-kem-1024")]
        &OneTimeMlKem::<4, R>::NEW,
        #[cfg(feature = "ml-kem-512")]
        &OneTimeMlKem::<2, R>::NEW,
    );

    #[cfg(feature = "fo-skip-experimental")]
    const FO_SKIP: &'static [&'static dyn KeyAgreement] = groups!(FoSkip,);

    const KEMS: &'static [&'static dyn KeyAgreement] = &[
        #[cfg(feature = "ml-kem")]
        &MlKem::<3, R>::NEW,
        #[cfg(feature = "ml-kem-1024")]
        &MlKem::<4, R>::NEW,
        #[cfg(feature = "ml-kem-512")]
        &MlKem::<2, R>::NEW,
    ];
}

/// Returns the group of ML-KEM-768 and X25519 (draft-ietf-tls-ecdhe-mlkem: in this order).
#[cfg(all(feature = "ml-kem", feature = "x25519"))]
const fn hybrid(
    group: NamedGroup,
    first: &'static dyn KeyAgreement,
    second: &'static dyn KeyAgreement,
) -> Hybrid {
    Hybrid { group, first, second }
}
