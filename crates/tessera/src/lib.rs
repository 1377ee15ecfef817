//! TLS 1.3 that reconnects fast without giving anything up.
//!
//! The engine of Tessera: a pure state machine for TLS 1.3 (RFC 8446, RFC 9846), client and server,
//! without sockets, clocks, threads or cryptography of its own. It knows five ways to (re)connect:
//! full handshakes, PSK with and without a key exchange, replayable 0-RTT, and forward-secret 0-RTT
//! whose early data is executed at most once.
//!
//! Begin with [`ClientConnection`] and [`ServerConnection`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod auth;
mod connection;
pub mod crypto;
mod error;
pub mod handshake;
mod key_log;
mod limits;
pub mod resume;
mod schedule;
mod time;
mod transport;
pub mod wire;

pub use connection::{ClientConnection, Connection, Progress, ReadEvent, ServerConnection};
pub use error::Error;
pub use handshake::{ClientConfig, Destination, Event, Facts, ServerConfig};
pub use key_log::KeyLog;
pub use time::Time;
pub use transport::Output;
