//! What the images have in common: the emulated board (QEMU's mps2-an505, a Cortex-M33), the ends of a connection, and how
//! they are measured.
#![no_std]

extern crate alloc;

pub mod board;
#[cfg(feature = "chains")]
pub mod chains;
pub mod connection;
pub mod datagrams;
#[cfg(feature = "suites")]
pub mod ed25519_key;
pub mod end;
pub mod ends;
#[cfg(not(any(feature = "chains", feature = "kem-pinned")))]
mod external_psk;
#[cfg(feature = "suites")]
pub mod falcon_key;
pub mod heap;
#[cfg(feature = "kem-pinned")]
mod known_key;
pub mod measure;
#[cfg(feature = "ml-dsa")]
pub mod ml_dsa_key;
pub mod one_heap;
pub mod random;
pub mod report;
#[cfg(any(feature = "cached-rsa", feature = "suites"))]
pub mod rsa_key;
pub mod search;
mod settings;
pub mod uart;
mod xorshift;
