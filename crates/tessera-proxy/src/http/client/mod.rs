//! Calls to one peer: over few connections that are kept, to several addresses, within a deadline.
//!
//! A [`Pool`] has the connections of one peer or origin, HTTP/2 or HTTP/1.1, over TLS or plaintext. A
//! [`Call`] says of each request when its response has to be there, whether it may travel as early data, and whether it
//! may be executed twice. See `Pool::call` for what is sent again.
//!
//! **Early data.** The first request of a new connection travels with the ClientHello, where the session store has a
//! forward-secret ticket and the request [may](Early::Allowed). It is the only one: all others wait until the handshake is
//! complete, and connections that are opened ahead of need carry none. What the server burned is sent again on the same
//! connection ([`tessera_tokio::FirstFlight`]). After `used` or `unknown` only a repeatable call is sent once more, on
//! another connection and not early; any other is an error that says so.
//!
//! **Bounds.** Connections, calls at a time, calls that wait, and bytes ahead of their reader are bounded by
//! [`PoolOptions`], and every wait has an end.

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

pub use self::addresses::{Addresses, Srv, SrvError, Target};
pub use self::call::{Answer, Call, Early};
pub use self::connect::{Connect, Connecting, Plaintext, Protocol, Tls, Transport};
pub use self::error::{CallError, CallErrorKind, FlightVerdict, Sent};
pub use self::options::PoolOptions;
pub use self::pool::Pool;
pub use self::status::{AddressStatus, Counts, PoolStatus};
