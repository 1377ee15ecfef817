//! TLS 1.3 on devices: Tessera's engine over the transports of `embedded-io`, without `std`.
//!
//! A [`Connector`] makes a client's streams and an [`Acceptor`] a server's, over anything that implements
//! [`embedded_io::Read`] and [`Write`](embedded_io::Write) (UARTs, modems, smoltcp, esp-hal), or their counterparts in
//! `embedded_io_async` (embassy). A [`TlsStream`] implements the same traits. `docs/embedded.md` in the repository
//! is the guide, from `cargo add` to a board.
//!
//! ```
//! use std::sync::Arc;
//!
//! use embedded_io::{Read, Write};
//! use tessera::handshake::Checked;
//! use tessera::{ClientConfig, Clock, Destination, Time};
//! use tessera_embedded::{Buffers, Connector, Error, input_len, output_len};
//!
//! /// The longest record to receive, in bytes: `record_size_limit` of the configuration.
//! const RECORD: u16 = 2048;
//!
//! /// Time since the start; this device has no date.
//! #[derive(Debug)]
//! struct Uptime;
//!
//! impl Clock for Uptime {
//!     fn now(&self) -> Time {
//!         # let ticks = || std::time::Duration::ZERO;
//!         Time { monotonic: ticks(), unix: None }
//!     }
//! }
//!
//! fn ask<IO: Read + Write>(
//!     config: Checked<ClientConfig>,
//!     io: IO,
//!     answer: &mut [u8; 100],
//! ) -> Result<usize, Error<IO::Error>> {
//!     let connector = Connector::new(config, Arc::new(Uptime));
//!     let destination = Destination { server_name: "server.example".into(), ..Default::default() };
//!     let (mut input, mut output) = ([0; input_len(RECORD)], [0; output_len(512)]);
//!     let buffers = Buffers { input: &mut input, output: &mut output };
//!     let mut stream = connector.connect_blocking(destination, io, buffers)?;
//!     stream.write_all(b"question")?;
//!     let count = stream.read(answer)?;
//!     stream.close_blocking()?;
//!     Ok(count)
//! }
//! ```
//!
//! # Memory
//! Records are read, decrypted, collected and encrypted in the caller's [`Buffers`]. The engine's state is on the heap, and
//! during a handshake its messages and keys; what is sent but data, such as this side's certificates, until it is sent. A
//! client's handshake takes, measured by `scripts/firmware --small` in the repository (Cortex-M33, opt-level z, without
//! buffers):
//!
//! | | stack | heap |
//! |---|---|---|
//! | external PSK, X25519 | 5.2 KB | 2.0 KB |
//! | chain of two with P-256, X25519 | 11.0 KB | 3.0 KB |
//! | the same, X25519MLKEM768 | 45.1 KB | 11.0 KB |
//!
//! A connection starts only if the heap has, in one block, what it takes at most
//! ([`heap_needed`](tessera::ClientConfig::heap_needed)), whatever the peer sends. Otherwise nothing is sent, and the error has
//! the number. It follows from the configuration's [`Limits`](tessera::Limits), whose defaults are a server's: a device states
//! its own.
//!
//! The configuration's `record_size_limit` bounds the input: [`input_len`]. A server that doesn't know RFC 8449 may send
//! longer records, and a client that doesn't offer it can't be asked; such a record ends the connection with
//! [`Error::Buffer`], if the input is too short for it. Messages may be longer than records, both ways.
//!
//! # Time
//! The engine's [`Clock`](tessera::Clock) may be monotonic alone. Time-outs are the transport's or the runtime's: see
//! [`TlsStream`].
//!
//! # Features
//! | feature | | default |
//! |---|---|---|
//! | `async` | streams over `embedded_io_async` too | yes |
//! | `sessions` | a client's sessions, in any store: `Connector::with_sessions` | no |
//! | `storage` | [`SessionStorage`]: a client's sessions in flash, over `embedded-storage` | no |
//!
//! Processors without atomic compare-and-swap (Cortex-M0+) are left out: configurations are shared by `Arc`.
//!
//! # Inside
//! `machine.rs` is a connection without its transport: it returns what the transport must do next. `blocking.rs` and
//! `asynchronous.rs` do it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod acceptor;
#[cfg(feature = "async")]
mod asynchronous;
mod blocking;
mod buffers;
mod connector;
mod error;
mod input;
mod machine;
mod outgoing;
mod sessions;
#[cfg(feature = "storage")]
mod storage;
mod stream;

pub use acceptor::Acceptor;
pub use buffers::{Buffer, BufferTooSmall, Buffers, LARGEST_INPUT, input_len, output_len};
pub use connector::Connector;
pub use error::Error;
#[cfg(feature = "storage")]
pub use storage::{SessionStorage, StorageError};
pub use stream::{ClientStream, ServerStream, TlsStream};

/// The README's code is compiled with the tests of the pages.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The same for the guide for devices.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedded.md")]
struct Guide;
