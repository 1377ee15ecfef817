//! The client's handshake (RFC 8446 §A.1): one state after the other, each with its own data.

mod certificate;
mod client_hello;
mod config;
mod connected;
mod encrypted_extensions;
mod finished;
mod heap;
mod kem;
mod known_key;
mod offer;
mod part;
mod progress;
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
use super::kem_flight::ReadEncapsulation;
use super::state::{State, states};
use crate::error::{Error, unexpected_message};
use crate::limits::MAX_SMALL_MESSAGE;
use crate::linked::{Certificates, KemAuthentication};
use crate::question::Suspension;
use crate::schedule::AuthenticatedHandshakeSecret;
use crate::wire::HandshakeMessage;

states! {
    /// The states of a client, in their order.
    pub enum ClientState asks ClientQuestion of Certificates {
        ReadServerHello(server_hello::ReadServerHello):
            |it| it.limits().handshake_message,
        ReadEncryptedExtensions(Box<encrypted_extensions::ReadEncryptedExtensions>):
            |it| it.offer.config.limits.handshake_message,
        ReadCertificate(certificate::ReadCertificate) of Certificates:
            |it| it.handover.limits().certificate_message,
        ReadCertificateVerify(Box<ReadCertificateVerify<part::ClientPart>>) of Certificates:
            |it| it.handover.limits().small_message(),
        ReadFinished(finished::ReadFinished): |it| it.0.limits().small_message(),
        ReadEncapsulation(
            Box<ReadEncapsulation<part::ClientPart, AuthenticatedHandshakeSecret>>
        ) of KemAuthentication: |it| it.handover.limits().small_message(),
        ReadLastFinished(kem::ReadLastFinished) of KemAuthentication: |it| it.0.limits().small_message(),
        Connected(Box<connected::Connected>): |it| it.config.limits.handshake_message,
    }
}

impl ClientState {
    fn trusts_keys(&self) -> bool {
        if let Self::ReadLastFinished(state) = self { state.may_write() } else { true }
    }
}
