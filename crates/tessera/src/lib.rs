//! TLS 1.3 for clients that reconnect often.
//!
//! This crate is the engine of Tessera: a state machine for TLS 1.3 (RFC 8446, RFC 9846) and, as
//! [`Association`], DTLS 1.3 (RFC 9147), client and server, without sockets, threads or cryptography of
//! its own. It is `no_std` with `alloc` and has no unsafe code.
//!
//! Programs on tokio use `tessera-tokio`, whose first page leads from PEM files to the first byte. This page is
//! for programs that drive the engine themselves: over their own sockets, in another runtime, on bare metal.
//!
//! # Ways to connect
//!
//! | way | early data | forward secrecy | turned on by |
//! |---|---|---|---|
//! | full handshake | no | yes | always there |
//! | the same, without a certificate | no | yes | [`known_server_key`](Destination::known_server_key), a KEM's |
//! | PSK with a key exchange | no | yes | default, where the server has [`tickets`](ServerConfig::tickets) |
//! | PSK alone | no | no | [`psk_only_without_forward_secrecy`](resume::ReconnectPolicy::psk_only_without_forward_secrecy) |
//! | 0-RTT (RFC 8446) | replayable | no | a [`ReplayGuard`](resume::ReplayGuard) |
//! | 0-RTT FS | accepted at most once | yes, from its take | a [`OneTimeKeyGuard`](resume::OneTimeKeyGuard) |
//!
//! In a full handshake a side signs, or both decapsulate: a [`Credential`](auth::Credential) with a KEM's key, for peers
//! whose verifier accepts [KEMs](auth::PeerVerifier::kem_scheme), as `tessera-webpki`'s does after `accepting_kems`.
//!
//! What a side offers and accepts is one value, its [`ReconnectPolicy`](resume::ReconnectPolicy).
//!
//! # What the engine needs
//!
//! | in the configuration | what it is | made by |
//! |---|---|---|
//! | [`Provider`](crypto::Provider) | the cryptography | `tessera-aws-lc`, on devices `tessera-rustcrypto` |
//! | [`PeerVerifier`](auth::PeerVerifier) | judges the peer's certificate | `tessera-webpki` |
//! | [`Credential`](auth::Credential) | this side's certificate and key | its owner |
//! | [`TicketKeys`](resume::TicketKeys) | seals and opens tickets (servers) | `tessera-vault`, `tessera-etcd` |
//! | [`Vault`](resume::Vault) | holds one-time keys (servers) | `tessera-vault`, `tessera-etcd` |
//! | [`CertificateCodecFactory`](auth::CertificateCodecFactory) | compresses certificates | `tessera-compression` |
//!
//! # The read loop
//!
//! ```text
//!            bytes from the peer ──► read() ──► events, data (in place), questions
//!   Output ◄── flights, alerts ────────┘             │
//!   Output ◄── write() ◄── data                      └──► answer()
//! ```
//!
//! Call [`Connection::read`] with everything received so far; handle the event; drop what was
//! [`consumed`](Progress::consumed); send what is in the [`Output`]. Repeat until it needs input:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tessera::{ClientConfig, ClientConnection, Destination, Event, Output, ReadEvent, Time};
//! # use tessera_null_provider::NullVerifier as Verifier;
//! # fn send(_: &[u8]) {}
//! # fn deliver(_: &[u8]) {}
//!
//! # fn main() -> Result<(), tessera::Error> {
//! let config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(Verifier)).checked()?;
//! // Two clocks: one that only goes forward, and the date if it is known.
//! let now = Time { monotonic: Duration::ZERO, unix: Some(Duration::from_secs(1_800_000_000)) };
//! // A client that sends early data sets `clock` too.
//! let destination = Destination { server_name: "server.example".into(), ..Default::default() };
//!
//! // The ClientHello is in the output.
//! let mut output = Output::new();
//! let mut connection = ClientConnection::start(config, destination, now, &mut output)?;
//!
//! // Append what the server sends to the input; it is decrypted in place.
//! let mut input: Vec<u8> = Vec::new();
//! loop {
//!     let progress = connection.read(now, &mut input, &mut output)?;
//!     let mut goes_on = true;
//!     match progress.event {
//!         ReadEvent::Data(data) => deliver(&input[data]),
//!         // For `Destination::session` of the next connection.
//!         ReadEvent::Handshake(Event::NewSession(session)) => drop(session),
//!         ReadEvent::PeerClosed | ReadEvent::NeedInput | ReadEvent::OutputFull => goes_on = false,
//!         _ => {}
//!     }
//!     // Always: records may have been consumed even if nothing more happens.
//!     input.drain(..progress.consumed);
//!     if !goes_on {
//!         break;
//!     }
//! }
//! send(output.as_slice());
//! output.consume(output.as_slice().len());
//! # Ok(())
//! # }
//! ```
//!
//! `examples/sans_io.rs` is a whole client and server over blocking sockets, with this loop. Programs that carry the
//! handshake in packets, as QUIC does, build their own loop from the parts in [`face`].
//!
//! Four rules complete it:
//!
//! - **Errors end the connection.** The alert is in the output and should still be sent.
//! - **Time is an argument**, except for the [`Clock`] of [`Destination::clock`]. [`Connection::deadline`] is when a
//!   handshake ends if nothing arrives; call `read` again then.
//! - **Report the end of the stream** with [`Connection::end_of_stream`]. Without a preceding close_notify, data may
//!   be missing, and that is an error.
//! - **Answer questions.** What may take time (a key in another machine, a vault across the network) arrives as
//!   [`ReadEvent::Question`] with a token; [`ServerConnection::answer`] takes the token and only an answer of its type.
//!   Nothing is read until then. Configurations whose traits answer at once ([`Reply::Now`]) raise no questions.
//!
//! # Early data
//!
//! After [`ClientConnection::start`] with a session, [`ClientConnection::early_data_room`] is how much may go
//! with the first flight. The server's application reads it as [`ReadEvent::EarlyData`]. If the server rejects it,
//! the [`Verdict`](resume::Verdict) of [`Event::EarlyDataRejected`] states whether it is safe to send again; the
//! engine never resends by itself.
//!
//! Under a forward-secret ticket early data is *accepted* at most once. It is *executed* at most once if the client
//! obeys the verdict; no answer means the verdict `unknown`. After an error, an end of the stream or an abandoned
//! connection, [`Facts`] still has how much was written, the flight's name (for
//! [`Destination::ask_receipts`]) and [`EarlyDataStatus::verdict`]. An attacker on the path can hold records back and
//! end the connection, so that only a prefix of the early data is executed: early data must be self-delimiting.
//!
//! # Inside
//!
//! - **The handshake knows no records.** It takes messages and answers; messages, keys and limits go to the trait below
//!   it (`handshake/below.rs`), events to the core. What TLS, DTLS and QUIC do differently is a value that every
//!   connection carries (`schedule/profile.rs`).
//! - **States own their data and move.** `ReadServerHello` becomes `ReadEncryptedExtensions` becomes `ReadFinished`; what
//!   a state lacks can't be used too early, and the next step consumes the key schedule's secrets. What lasts from the
//!   hellos to the end is one boxed value (`handshake/handover.rs`), the same for both roles but for one part.
//! - **Whatever may wait is a question.** If its answer comes later, a server's decision (`handshake/server/decisions.rs`)
//!   stops, and is repeated from the top with the answers so far.
//! - **The transcript is the bytes as sent**, never a message serialized again.
//! - **Policy is data.** Early data needs a guard: without one it can't be accepted. A PSK's modes belong to its kind
//!   (`PskKind::modes`), and both ends ask it.
//! - **A certificate passes through a codec** (`auth/certificate_codec.rs`), one for each connection, which compresses
//!   or abbreviates it. The engine offers the codec, chooses it, bounds what it writes and compares the length; any
//!   doubt that the chain is the one that was sent is raised only after the proof.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod address_prefix;
mod alert;
pub mod auth;
mod carrier;
mod code_point;
mod connection;
mod connection_id;
pub mod crypto;
mod error;
pub mod face;
pub mod handshake;
mod key_log;
mod limits;
mod linked;
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

pub use address_prefix::AddressPrefix;
pub use connection::{
    Association, AssociationOptions, ClientAssociation, ClientConnection, Connection,
    ConnectionIdUsage, IdleAssociation, PathCookie, PathMessage, Progress, ReadEvent, ResetToken,
    ServerAddress, ServerAssociation, ServerConnection,
};
pub use connection_id::ConnectionId;
pub use error::Error;
pub use handshake::{
    ClientConfig, ClientQuestion, Destination, EarlyDataStatus, Event, Facts, Reply, ServerConfig,
    ServerQuestion,
};
pub use key_log::KeyLog;
pub use limits::Limits;
pub use padding::Padding;
pub use record::{DroppedRecords, Output};
pub use role::Role;
pub use time::{Clock, Time};
pub use zeroize::Zeroizing;
