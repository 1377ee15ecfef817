//! `tessera stek`: ticket keys for any pool of TLS servers.
#![forbid(unsafe_code)]

pub mod canary;
pub mod keys;
pub mod servers;
