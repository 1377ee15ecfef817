//! Streams of devices over transports of std and tokio, and over one that is the peer itself.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cancellation;
mod early_data;
mod ends;
mod faults;
mod peer;
mod peers;
