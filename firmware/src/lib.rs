//! What the images have in common: the emulated board (QEMU's mps2-an505, a Cortex-M33), the ends of a connection, and how
//! they are measured.
#![no_std]

extern crate alloc;

pub mod board;
pub mod connection;
pub mod ends;
pub mod heap;
pub mod measure;
pub mod one_heap;
pub mod random;
pub mod search;
pub mod uart;
mod xorshift;
