//! A client that is sent from proxy to proxy, with real servers.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

mod announcements;
mod dead_alternatives;
mod flights;
mod misdirected;
mod moves;
mod nginx;
mod storms;
