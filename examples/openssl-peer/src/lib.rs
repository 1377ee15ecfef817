//! Forward-secret 0-RTT between Tessera and an unmodified OpenSSL, in both directions.
//!
//! OpenSSL doesn't support it. All that a stock stack needs has been in OpenSSL since 1.1.1: custom extensions,
//! exporters, and external PSKs with early data by callback. The rest is an application around it ([`OpensslClient`],
//! [`OpensslServer`]), which computes everything in `docs/0rtt-fs.md` with OpenSSL's own primitives, and shares no code
//! with Tessera.

mod derive;
mod ffi;
mod messages;
mod openssl_client;
mod openssl_end;
mod openssl_server;
mod pipe;
mod site;
mod tessera_end;

pub use messages::{LONE, PAIRED, TicketExtension, Verdict};
pub use openssl_client::{OpensslClient, Ticket};
pub use openssl_end::{EarlyData, OpensslEnd};
pub use openssl_server::OpensslServer;
pub use pipe::Pipe;
pub use site::{PROTOCOL, SERVER_NAME, Site};
pub use tessera_end::{TesseraClient, TesseraEnd, TesseraServer, carry};

/// The errors of this example.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Returns the version of the OpenSSL library that is in use.
pub fn openssl_version() -> &'static str {
    openssl::version::version()
}
