//! The client's handshake (RFC 8446 §A.1): one state after the other, each with its own data.

mod certificate;
mod client_hello;
mod config;
mod connected;
mod encrypted_extensions;
mod finished;
mod offer;
mod part;
mod questions;
mod server_hello;
#[cfg(test)]
mod tests;

pub use config::{ClientConfig, Destination};
pub use questions::ClientQuestion;

use alloc::boxed::Box;

use super::application::Application;
use super::certificate_flight::ReadCertificateVerify;
use super::context::Context;
use super::state::{State, states};
use crate::error::{Error, unexpected_message};
use crate::limits::{MAX_HANDSHAKE_MESSAGE, MAX_SMALL_MESSAGE};
use crate::question::Suspension;
use crate::wire::HandshakeMessage;

states! {
    /// The states of a client, in their order.
    pub enum ClientState asks ClientQuestion {
        ReadServerHello(server_hello::ReadServerHello): MAX_HANDSHAKE_MESSAGE,
        ReadEncryptedExtensions(Box<encrypted_extensions::ReadEncryptedExtensions>): MAX_HANDSHAKE_MESSAGE,
        ReadCertificate(certificate::ReadCertificate): MAX_HANDSHAKE_MESSAGE,
        ReadCertificateVerify(Box<ReadCertificateVerify<part::ClientPart>>): MAX_SMALL_MESSAGE,
        ReadFinished(finished::ReadFinished): MAX_SMALL_MESSAGE,
        Connected(Box<connected::Connected>): MAX_HANDSHAKE_MESSAGE,
    }
}
