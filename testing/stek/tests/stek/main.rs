//! Rings of ticket keys with real servers.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail their test")]

mod clock;
mod curl;
mod envoy;
mod files;
mod go;
mod haproxy;
mod load;
mod mixed;
mod nginx;
mod openssl;
mod partition;
mod pool;
mod program;
mod store;
