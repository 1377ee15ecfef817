//! Ring and vault in etcd: their guarantees while servers, members and networks fail.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

mod entries;
mod fleet;
mod flood;
mod gateway;
mod limits;
mod lost;
mod requests;
mod ring;
mod store;
mod vault;
