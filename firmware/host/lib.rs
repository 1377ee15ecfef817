//! The images' ends, on the host.
#![no_std]

extern crate alloc;

#[path = "../src/connection.rs"]
pub mod connection;
#[path = "../src/ends.rs"]
pub mod ends;
#[path = "../src/random.rs"]
pub mod random;
