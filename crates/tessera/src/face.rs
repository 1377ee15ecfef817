//! The parts of faces outside this crate, which carry the handshake in their own packets, as QUIC does.
//! [`Connection`](crate::Connection), the face over a stream, and [`Association`](crate::Association), the one over
//! datagrams, are made of the same parts.
//!
//! ```text
//!   message(), answer() ──► Core ──► event(), question(), facts()
//!                            │
//!                            ▼
//!      Below: send(epoch, message), install(direction, epoch, suite, secret), limit()
//! ```
//!
//! [`Core`] is one end of a connection without what carries it. It takes whole handshake messages with the [`Epoch`] of
//! the keys that protected them, and calls [`Below`], which the face implements, to send messages and to change keys.
//! It never protects a packet. `examples/messages.rs` is a whole face, with both ends in one process.
//!
//! # What a face does
//!
//! - **It chooses a [`Profile`]**: the rules in which TLS, DTLS and QUIC differ. [`STREAM`] is TLS's. Another is
//!   written as its differences from that, `Profile { label_prefix: b"dtls13", ..STREAM }`, and has its own
//!   [`Carrier`]: sessions resume over no other.
//! - **It splits what arrives into messages** ([`Reassembly`]), of at most [`Core::max_message`] bytes, in order, and
//!   only while [`Core::is_suspended`] is false.
//! - **It passes on [`Core::event`] and [`Core::question`]** after each message and each answer.
//! - **It ends the connection on an error that [`is_final`](crate::Error::is_final)**: [`Core::fail`] keeps the error
//!   and drops all secrets; [`Error::alert`](crate::Error::alert) is the alert for the peer. After any other error, such
//!   as that of a wrong answer, the connection goes on.
//! - **It keeps time**: past [`Core::deadline`] it fails the connection with
//!   [`Error::TimedOut`](crate::Error::TimedOut).
//! - **It reports data**: [`Core::saw_data`], [`Core::wrote_early_data`], and the [`Core::end`] of each direction.
//! - **It protects its own keys.** The core wipes its secrets, and the stack below its steps; the face wipes what it
//!   derives from a [`TrafficSecret`].
//!
//! What is specific to one connection of a server is its [`Arrival`]: its own extensions, such as a connection ID, and
//! the [`RetryState`] from a cookie. With [`RetryState::request`] a server asks a client to prove its address before
//! it keeps any state.
//!
//! # What is stable
//!
//! This module follows the versions of the crate, like all public items. Within one version, these may change:
//!
//! | | may change in any version |
//! |---|---|
//! | [`Below`] | new methods with a default |
//! | [`Limit`] | new kinds; a face ignores those that it doesn't know |
//! | [`Profile`] | new fields, whose value in [`STREAM`] keeps the previous behaviour: so write `..STREAM` |
//! | [`Carrier`] | new names below 128; numbers from 128 are for faces outside this crate |
//! | what [`RetryState::request`] seals | its encoding: put a version into the cookie if several servers share it |
//! | calls of [`Below`] | which messages one step sends; their order on the wire and their epochs are the protocol's |

pub use crate::carrier::Carrier;
pub use crate::connection::{
    HelloPart, HelloReader, connection_id_of, offers_extension, write_retry,
};
pub use crate::handshake::{
    Arrival, Below, Core, Direction, Epoch, Limit, RefusedEarlyData, RetryState,
};
pub use crate::record::{Batch, Reassembly};
pub use crate::schedule::{DATAGRAM, Profile, STREAM, TrafficSecret};
pub use crate::wire::{HandshakeMessage, Reader, Versions, Writer};
