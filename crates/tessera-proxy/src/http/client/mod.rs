//! HTTP calls to one peer: over a few kept connections, at several addresses, within a deadline.
//!
//! A [`Pool`] holds the connections to one peer or origin, HTTP/2 or HTTP/1.1, over TLS or plaintext. A [`Call`] sets,
//! for each request, the deadline of the response, whether the request may travel as early data, and whether it may be
//! executed twice. See `Pool::call` for what is resent.
//!
//! **Early data.** The first request of a new connection travels with the ClientHello, if the session store has a
//! forward-secret ticket and the request [may](Early::Allowed). It is the only one: all others wait for the end of the
//! handshake, and connections opened ahead of need carry none. Requests that the server burned are resent on the same
//! connection ([`tessera_tokio::FirstFlight`]). After `used` or `unknown` only a repeatable call is resent, once, on
//! another connection and not early; any other fails with an error that reports the verdict.
//!
//! **Upgrades.** [`Pool::upgrade`] switches an HTTP/1.1 connection of its own to another protocol, [`Pool::extended_connect`]
//! a stream of an HTTP/2 connection.
//!
//! **Bounds.** [`PoolOptions`] limits connections, concurrent calls, waiting calls, and bytes sent ahead of their
//! reader; every wait has a time limit.

mod addresses;
mod call;
mod connect;
mod connection;
mod error;
mod exchange;
mod failure;
mod flight;
mod options;
mod pool;
mod retry;
mod status;
mod upgrade;

pub use self::addresses::{Addresses, Srv, SrvError, Target};
pub use self::call::{Answer, Call, Early, Permission};
pub use self::connect::{Connect, Connecting, Plaintext, Protocol, Tls, Transport};
pub use self::error::{CallError, CallErrorKind, Delivery, FlightVerdict};
pub use self::options::PoolOptions;
pub use self::pool::Pool;
pub use self::status::{AddressStatus, Counts, PoolStatus};
pub use self::upgrade::{UpgradeAnswer, UpgradeOutcome, UpgradedStream};
