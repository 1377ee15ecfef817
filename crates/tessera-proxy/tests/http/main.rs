//! HTTP: a pool of connections to servers, and a server's connections from clients.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod http_client;
mod http_server;
mod upgrades;
