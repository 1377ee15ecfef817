//! The algorithms of the provider, against known answers and Wycheproof.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

mod aead;
mod agreement;
mod ahead;
mod hash;
mod one_time;
mod provider;
mod sign;
