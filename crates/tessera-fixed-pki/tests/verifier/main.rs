//! The verifier on chains made for the tests, next to `tessera-webpki`'s.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod anchors;
mod chains;
mod clients;
mod dates;
mod kems;
mod known;
mod mutated;
mod names;
mod pinned_keys;
mod pki;
mod proofs;
mod random;
mod rebuilt;
mod rsa;
mod setup;
mod suites;
