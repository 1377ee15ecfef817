//! What the images have in common: the emulated board (QEMU's mps2-an505, a Cortex-M33), the ends of a connection, and how
//! they are measured.
#![no_std]

extern crate alloc;

pub mod board;
#[cfg(feature = "p256")]
pub mod chains;
pub mod connection;
pub mod datagrams;
pub mod end;
pub mod ends;
pub mod heap;
pub mod measure;
#[cfg(feature = "ml-dsa")]
mod ml_dsa_key;
pub mod one_heap;
pub mod random;
pub mod report;
#[cfg(feature = "cached-rsa")]
mod rsa_key;
pub mod search;
pub mod uart;
mod xorshift;
