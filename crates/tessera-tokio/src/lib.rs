//! Tessera on tokio: TLS 1.3 streams that reconnect fast without giving anything up.
//!
//! - [`Connector`] and [`Acceptor`] make [`TlsStream`]s over whatever is [`AsyncRead`] and
//!   [`AsyncWrite`]: sockets, pipes, other streams.
//! - [`Connector::connect_with_early_data`] sends data with the first flight and says what became of
//!   it; [`Acceptor::accept_early`] answers it before the handshake is complete.
//! - [`SessionStore`]s keep what a client needs to come back: [`MemorySessionStore`], and
//!   [`FileSessionStore`] for processes that share them.
//! - [`Answers`] answers what a configuration leaves for later.
//! - With the feature `http` there is the module `http`: early data in HTTP (RFC 8470).
//!
//! It needs a tokio runtime with its time enabled: handshakes that take too long are ended.
//!
//! [`AsyncRead`]: tokio::io::AsyncRead
//! [`AsyncWrite`]: tokio::io::AsyncWrite
#![forbid(unsafe_code)]

mod acceptor;
mod answers;
mod connector;
mod current;
mod drive;
mod error;
mod held;
#[cfg(feature = "http")]
pub mod http;
mod input;
mod link;
mod machine;
mod sessions;
mod side;
mod stream;
#[cfg(feature = "system-trust")]
mod trust;
mod wakers;
mod watch;

pub use acceptor::Acceptor;
pub use answers::{Answer, Answers};
pub use connector::Connector;
pub use sessions::{FileSessionStore, MemorySessionStore, SessionStore};
pub use side::Side;
pub use stream::{ClientStream, EarlyData, ServerStream, TlsStream};
#[cfg(feature = "system-trust")]
pub use trust::system_verifier;
pub use watch::HandshakeWatch;
