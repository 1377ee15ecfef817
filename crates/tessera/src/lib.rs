//! TLS 1.3 that reconnects fast without giving anything up.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod auth;
pub mod crypto;
pub mod handshake;
pub mod wire;
