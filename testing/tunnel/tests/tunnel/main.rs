//! Tunnels between real programs, with an adversary between the ends, through restarts, and with bad input.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod adversary;
mod backends;
mod bad_files;
mod bad_input;
mod certificates;
mod fleet;
mod link;
mod programs;
mod proxy_protocol;
mod real_adversary;
mod restart;
mod stage;
mod streams;
mod withdrawn;

/// The program under test.
const TESSERA: &str = env!("CARGO_BIN_EXE_tunnel-under-test");
