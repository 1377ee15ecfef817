//! TLS 1.3 that reconnects fast without giving anything up.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod auth;
pub mod crypto;
mod error;
pub mod handshake;
mod key_log;
mod limits;
pub mod resume;
mod schedule;
mod time;
pub mod wire;

pub use error::Error;
pub use key_log::KeyLog;
pub use time::Time;
