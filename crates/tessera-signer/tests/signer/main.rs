//! A signer and servers that ask it: what it signs, what it refuses, and signers that are slow, gone, or lie.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

mod handshakes;
mod hostile_signers;
mod limits;
mod openssl;
mod page;
mod program;
mod refusals;
