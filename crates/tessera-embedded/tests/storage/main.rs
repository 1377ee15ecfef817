//! Sessions in flash, where power is lost at every write and erase.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod damage;
mod flash;
mod sessions;
