//! What faces outside of this crate are made of: those that carry the handshake in packets of their own, as QUIC and
//! DTLS do. [`Connection`](crate::Connection) is the face over a stream, and made of the same parts.
//!
//! ```text
//!   message(), answer() ──► Core ──► event(), question(), facts()
//!                            │
//!                            ▼
//!      Below: send(epoch, message), install(direction, epoch, suite, secret), limit()
//! ```
//!
//! [`Core`] is one end of a connection but for what carries it. It takes whole handshake messages with the [`Epoch`] of
//! the keys that they came under, and calls [`Below`], which the face implements, to send messages and to change keys.
//! It never protects a packet. `examples/messages.rs` is a whole face, with both ends in one process.
//!
//! # What a face does
//!
//! - **It chooses a [`Profile`]**: the rules in which TLS, DTLS and QUIC differ. [`STREAM`] is TLS's. Another is written
//!   as its differences from that, `Profile { label_prefix: b"dtls13", ..STREAM }`, and has a [`Carrier`] of its own:
//!   sessions resume over no other.
//! - **It splits what came into messages** ([`Reassembly`]), of at most [`Core::max_message`] bytes, in their order, and
//!   only while [`Core::is_waiting`] is false.
//! - **It hands on [`Core::event`] and [`Core::question`]** after each message and each answer.
//! - **An error ends the connection**: [`Core::fail`] keeps it and drops all secrets; [`Error::alert`](crate::Error::alert)
//!   is what the peer gets.
//! - **It keeps time**: past [`Core::deadline`] it fails the connection with [`Error::TimedOut`](crate::Error::TimedOut).
//! - **It reports data**: [`Core::saw_data`], [`Core::wrote_early_data`], and the [`Core::end`] of each direction.
//! - **It looks after its own keys.** The core wipes its secrets, and the stack below its steps; what a face derives
//!   from a [`TrafficSecret`] is the face's.
//!
//! What one connection brings to a server is its [`Arrival`]: extensions of its own, such as a connection ID, and the
//! [`RetryState`] behind a cookie. With [`RetryState::request`] a server asks a client to show its address before
//! anything is kept for it.
//!
//! # What is stable
//!
//! This module follows the versions of the crate, as all that is public does. What may change within one is listed here:
//!
//! | | may change in any version |
//! |---|---|
//! | [`Below`] | new methods that have a default |
//! | [`Limit`] | new kinds; a face ignores what it doesn't know |
//! | [`Profile`] | new fields, whose value in [`STREAM`] is what was done before: so write `..STREAM` |
//! | [`Carrier`] | new names below 128; numbers from 128 on are for faces outside of this crate |
//! | what [`RetryState::request`] seals | its encoding: put a version into the cookie where servers of several share it |
//! | calls of [`Below`] | which messages one step sends; their order on the wire and their epochs are the protocol's |

pub use crate::carrier::Carrier;
pub use crate::handshake::{
    Arrival, Below, Core, Direction, Epoch, Limit, RefusedEarlyData, RetryState,
};
pub use crate::record::{Batch, Reassembly};
pub use crate::schedule::{Profile, STREAM, TrafficSecret};
pub use crate::wire::{HandshakeMessage, Versions};
