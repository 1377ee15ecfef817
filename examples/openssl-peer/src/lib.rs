//! Forward-secret 0-RTT between Tessera and an unmodified OpenSSL, in both directions.
//!
//! OpenSSL knows nothing of it. What a stock stack needs is what OpenSSL has had since 1.1.1:
//! extensions of the application's own, exporters, and external PSKs with early data by callback. The
//! rest is an application around it ([`OpensslClient`], [`OpensslServer`]), which computes everything
//! of `docs/0rtt-fs.md` with OpenSSL's own primitives, and shares no code with Tessera's.

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

/// What goes wrong in this example.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The version of the OpenSSL library that is in use.
pub fn openssl_version() -> &'static str {
    openssl::version::version()
}
