//! The server end of a tunnel, with clients of `tessera_tokio` and test backends.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backend_first;
mod backends;
mod copies;
mod ends;
mod fleet;
mod peers;
mod proxy_headers;
mod reload;
mod replays;
mod state;
mod world;
