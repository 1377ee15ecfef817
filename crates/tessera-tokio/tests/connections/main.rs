//! Streams over connections: what they carry, when they fail, and what early data becomes.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod authorities;
mod cancellation;
mod early_data;
mod fast_open;
mod first_flight;
mod first_flight_ends;
mod first_flight_order;
mod irregular_streams;
mod outcomes;
mod questions;
mod replaced_configurations;
mod server;
mod sites;
mod streams;
mod trust;
mod withdrawn;
