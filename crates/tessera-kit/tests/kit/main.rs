//! Building blocks of programs: files of certificates, keys and sessions.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cached_certificates;
mod files;
mod key_log;
mod live;
mod pem;
