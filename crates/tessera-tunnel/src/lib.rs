//! `tessera tunnel`: any TCP protocol through two small processes.
#![forbid(unsafe_code)]

pub mod client;
pub mod config;
pub mod metrics;
pub mod peers;
pub mod server;
pub mod stores;
pub mod tls;
