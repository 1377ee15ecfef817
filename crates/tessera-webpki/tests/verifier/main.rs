//! The verifier against certificates made for the tests.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod anchors;
mod clients;
mod criteria;
mod kems;
mod key_usage;
#[cfg(feature = "std")]
mod known;
mod pinned_keys;
mod pki;
mod policies;
mod revocation;
mod servers;
mod setup;
mod signatures;
