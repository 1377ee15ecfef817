//! Orchestrators on a store, with proxies that prepare as real ones do, and operators that call them over mutual TLS.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod drains;
mod etcd;
mod moves;
mod queue;
mod requests;
mod shown;
mod store;
mod world;
