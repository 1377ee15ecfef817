//! A program of its own: its allocator counts.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cache;
mod ends;
mod hostile;
mod kems;
mod known;
mod need;
mod provider;
mod static_keys;
mod verifier;
mod worlds;

use tessera_heap_tests::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
