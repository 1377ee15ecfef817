//! Tickets of a pool, through the interface that the engine uses.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail their test")]

mod connections;
mod envoy;
mod keys;
mod pool;
mod sessions;
