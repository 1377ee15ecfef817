//! The server's end of a UDP socket: all its DTLS 1.3 associations (RFC 9147) in one object, sans-IO.
//!
//! ```text
//!   datagram, its path ──► route() ──► Association(id) ──► read() ──► events, data
//!                             ├──► Handled: a HelloRetryRequest with a cookie
//!                             ├──► Foreign: not DTLS 1.3, for another program
//!                             ├──► Full: refused by a limit
//!                             └──► Dropped, counted by reason
//!   datagrams, their paths ◄── transmit()
//!   deadline() ──► handle_timeouts()
//! ```
//!
//! `examples/echo_datagrams.rs` is a whole server over a blocking socket, and a client of it.
//!
//! # Who gets state
//!
//! | a ClientHello | costs | leaves |
//! |---|---|---|
//! | of a stranger | two hashes and a seal | nothing: a HelloRetryRequest carries all in its cookie |
//! | with a cookie of this address | opening it | an association |
//! | with a ticket that opens and a binder that is right | a key exchange | an association that sends at most three times what came |
//! | with a ticket that doesn't, or with early data for a key that is gone | opening it | nothing |
//! | with a binder that is wrong | opening the ticket, a seal | nothing: its alert goes to the address that the cookie proves |
//! | in parts | copying them | a place in a bounded pool, for as long as a cookie at most: the oldest make room |
//!
//! Above [`EndpointOptions::max_unproved`] associations without a proved address every ClientHello needs a cookie; so does
//! one from the address of an association without connection IDs whose client has changed its keys, since its records
//! look like those of a handshake.
//!
//! # Moves
//!
//! A record that opens and is the newest of its association moves it to the address from which the record came
//! (RFC 9146 §6). Such an address may be another's: it is challenged ([`ReturnRoutability`], RFC 9853), and gets at most
//! three times what came from it until it answers. If it doesn't, the association moves back. It counts where its handshake
//! began.
//!
//! Once its connection ID is agreed, no address leads to an association: clients may share one, and a client that moves
//! takes no other's. Without connection IDs the newest complete handshake from an address has it.
//!
//! # Memory
//!
//! An association that was quiet for a minute or two is kept in less than a kibibyte until its next record that opens, from
//! four minutes after its handshake on: [`Endpoint::idle_len`]. A record that doesn't open costs two derivations of keys.
//!
//! # Restarts
//!
//! [`Endpoint::freeze`] moves an association out, and [`Endpoint::thaw`] into the endpoint of the next process: its client
//! notices nothing. A client whose association is lost learns it from a reset ([`EndpointOptions::reset_key`]).
#![forbid(unsafe_code)]

mod budget;
mod challenges;
mod client;
mod cookies;
mod counts;
mod endpoint;
mod foreign;
mod frozen_association;
mod hello_pool;
mod options;
mod path;
mod peer_path;
mod resets;
mod routes;
mod sockets;
mod timers;

pub use client::ClientEndpoint;
pub use counts::EndpointCounts;
pub use endpoint::{AssociationId, EndedAssociation, Endpoint, Route};
pub use foreign::Foreign;
pub use frozen_association::{FrozenAssociation, ThawError};
pub use options::{EndpointOptions, ReturnRoutability};
pub use path::Path;
pub use resets::ResetKey;
pub use sockets::{OwnSockets, SocketPolicy};
