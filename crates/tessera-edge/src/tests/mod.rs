//! Proxies of a pool, with real listeners.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod attacks;
mod checks;
mod clients;
mod ends;
mod envoy;
mod fences;
mod instances;
mod limits;
mod moves;
mod world;
