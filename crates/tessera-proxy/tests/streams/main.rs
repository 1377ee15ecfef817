//! Streams: their start, what a pump carries, and their end.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod fast_open;
mod proxy_protocol;
mod pump;
mod pump_reset;
