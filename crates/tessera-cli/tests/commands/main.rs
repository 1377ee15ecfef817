//! `tessera serve` and `tessera connect`, the programs as users start them.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cached_certificates;
mod closing;
mod document;
mod facts;
mod fast_open;
mod full_disk;
mod hostile;
mod http;
mod load;
mod openssl;
mod program;
mod readers;
mod refusals;
mod reload;
mod reloaded_trust;
mod sessions;
mod shared_certificates;
mod ways;
