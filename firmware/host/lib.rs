//! The images' ends, on the host.
#![no_std]

extern crate alloc;

#[cfg(feature = "chains")]
#[path = "../src/chains.rs"]
pub mod chains;
#[path = "../src/connection.rs"]
pub mod connection;
#[cfg(feature = "suites")]
#[path = "../src/ed25519_key.rs"]
pub mod ed25519_key;
#[path = "../src/ends.rs"]
pub mod ends;
#[cfg(not(any(feature = "chains", feature = "kem-pinned")))]
#[path = "../src/external_psk.rs"]
pub mod external_psk;
#[cfg(feature = "suites")]
#[path = "../src/falcon_key.rs"]
pub mod falcon_key;
#[cfg(feature = "kem-pinned")]
#[path = "../src/known_key.rs"]
pub mod known_key;
#[cfg(feature = "ml-dsa")]
#[path = "../src/ml_dsa_key.rs"]
pub mod ml_dsa_key;
#[path = "../src/random.rs"]
pub mod random;
#[cfg(any(feature = "cached-rsa", feature = "suites"))]
#[path = "../src/rsa_key.rs"]
pub mod rsa_key;
#[path = "../src/settings.rs"]
pub mod settings;
#[path = "../src/xorshift.rs"]
mod xorshift;
