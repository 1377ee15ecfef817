//! Connections over datagrams, on real sockets.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod cancellation;
mod ends;
mod foreign;
mod handshakes;
mod losses;
mod moves;
mod relay;
mod restarts;
mod sockets;
mod world;
