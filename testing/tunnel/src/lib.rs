//! Shared by the tests of `tessera tunnel`: certificates ([`Pki`]), the ends of a tunnel by any program ([`ends`]),
//! real programs that communicate through it ([`applications`]), and a backend that counts what it executes
//! ([`counting`]).
//!
//! stunnel and HAProxy run the same tables without Tessera: what fails there is not the tunnel's fault.

// Any failure here fails the test by a panic.
#![allow(clippy::unwrap_used, clippy::panic)]
#![forbid(unsafe_code)]

mod address;
pub mod applications;
pub mod counting;
pub mod ends;
mod pki;
mod serving;
pub mod tessera;

pub use address::free_address;
pub use pki::{CLIENT_NAME, Identity, Pki, SERVER_NAME};
pub use serving::serve;
pub use tessera_test_peers::between;
