//! The images' ends, on the host.
#![no_std]

extern crate alloc;

#[cfg(feature = "p256")]
#[path = "../src/chains.rs"]
pub mod chains;
#[path = "../src/connection.rs"]
pub mod connection;
#[path = "../src/ends.rs"]
pub mod ends;
#[cfg(feature = "ml-dsa")]
#[path = "../src/ml_dsa_key.rs"]
mod ml_dsa_key;
#[path = "../src/random.rs"]
pub mod random;
#[cfg(feature = "cached-rsa")]
#[path = "../src/rsa_key.rs"]
mod rsa_key;
#[path = "../src/xorshift.rs"]
mod xorshift;
