//! `tessera tunnel`: any TCP protocol through two small processes.
#![forbid(unsafe_code)]

pub mod config;
pub mod metrics;
