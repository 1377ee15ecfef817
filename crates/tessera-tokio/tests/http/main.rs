//! HTTP over the streams, with real HTTP implementations.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod axum;
mod first_flight_http;
mod http;
mod hyper;
mod tonic;
