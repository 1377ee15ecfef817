//! Streams of devices over transports of std and tokio, and over one that is the peer itself.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bad_input;
mod cancellation;
mod device;
mod early_data;
mod ends;
mod faults;
mod heap;
mod peer;
mod peers;

/// Only what a test puts on a device's heap counts.
#[global_allocator]
static ALLOCATOR: tessera_heap_tests::CountingAllocator = tessera_heap_tests::CountingAllocator;
