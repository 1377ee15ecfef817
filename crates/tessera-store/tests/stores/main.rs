//! The contract, and the store in a file.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

mod contract;
mod file;
mod flaws;
mod refusals;
mod witness;
