//! TLS 1.3 that reconnects fast without giving anything up.
//!
//! The engine of Tessera: a pure state machine for TLS 1.3 (RFC 8446, RFC 9846), client and server,
//! without sockets, clocks, threads or cryptography of its own. It knows five ways to (re)connect:
//! full handshakes, PSK with and without a key exchange, replayable 0-RTT, and forward-secret 0-RTT
//! whose early data is executed at most once.
//!
//! Begin with [`ClientConnection`] and [`ServerConnection`]. Both take bytes and time, and give bytes,
//! data, events and questions:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tessera::{ClientConfig, ClientConnection, Destination, Output, ReadEvent, Time};
//! # use tessera_null_provider::NullVerifier as Verifier;
//!
//! # fn main() -> Result<(), tessera::Error> {
//! let config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(Verifier)).checked()?;
//! let now = Time { monotonic: Duration::ZERO, unix: Some(Duration::from_secs(1_800_000_000)) };
//! let destination = Destination { server_name: "server.example".into(), ..Default::default() };
//!
//! // The ClientHello is in the output: send it.
//! let mut output = Output::new();
//! let mut connection = ClientConnection::start(config, destination, now, &mut output)?;
//! assert!(!output.as_slice().is_empty());
//!
//! // Whatever the server sends is decrypted where it lies.
//! let mut input: Vec<u8> = Vec::new();
//! let progress = connection.read(now, &mut input, &mut output)?;
//! assert!(matches!(progress.event, ReadEvent::NeedInput));
//! # Ok(())
//! # }
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod alert;
pub mod auth;
mod carrier;
mod code_point;
mod connection;
pub mod crypto;
mod error;
pub mod handshake;
mod key_log;
mod limits;
mod padding;
mod question;
mod record;
pub mod resume;
mod role;
mod schedule;
#[cfg(test)]
mod testing;
mod time;
pub mod wire;

pub use connection::{ClientConnection, Connection, Progress, ReadEvent, ServerConnection};
pub use error::Error;
pub use handshake::{
    ClientConfig, ClientQuestion, Destination, EarlyDataStatus, Event, Facts, Reply, ServerConfig,
    ServerQuestion,
};
pub use key_log::KeyLog;
pub use padding::Padding;
pub use record::Output;
pub use role::Role;
pub use time::Time;
pub use zeroize::Zeroizing;
