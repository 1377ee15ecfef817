//! Tessera against other TLS stacks, over loopback TCP: support for the tests.
//!
//! An [`End`] is one side of a connection, driven over a socket; [`Pki`] makes all certificates. `testing/peers` starts
//! the openssl program. Nothing here waits longer than its `PATIENCE`.

// Any failure here fails the test by a panic.
#![allow(clippy::unwrap_used, clippy::panic)]
#![forbid(unsafe_code)]

mod asking;
mod browser;
mod cached;
mod configs;
mod counting;
mod end;
#[cfg(feature = "fo-skip")]
mod fo_skip;
mod key_lines;
mod pki;
mod received;
mod said;

pub use asking::{StapleVerifier, StapledData};
pub use browser::serve_pages;
pub use cached::{Caches, Form, forms};
pub use configs::{client, server, to};
pub use counting::CountingCompression;
pub use end::{Client, End, Listener, Server};
#[cfg(feature = "fo-skip")]
pub use fo_skip::fo_skip_client;
pub use key_lines::{KeyLines, hex};
pub use pki::{CLIENT_NAME, Identity, KeyKind, Pki, SERVER_NAME};
pub use received::ReceivedData;
pub use said::says_signature;
