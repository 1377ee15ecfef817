//! Bindings: the machine of a move, its steps in a store, and what proxies see of it.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod leases;
mod machine;
mod routes;
mod steps;
mod take_overs;
mod views;
mod world;
