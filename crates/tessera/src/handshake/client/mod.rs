//! The client's handshake (RFC 8446 §A.1): one state after the other, each with its own data.

mod certificate;
mod client_hello;
mod config;
mod connected;
mod encrypted_extensions;
mod finished;
mod offer;
mod questions;
mod server_hello;
#[cfg(test)]
mod tests;

pub use config::{ClientConfig, Destination};
pub use questions::ClientQuestion;

use alloc::boxed::Box;

use super::application::Application;
use super::config::Checked;
use super::context::Context;
use super::state::{OUT_OF_TURN, State, accessors};
use crate::error::Error;
use crate::limits::{MAX_HANDSHAKE_MESSAGE, MAX_SMALL_MESSAGE};
use crate::question::Waiting;
use crate::wire::{AlertDescription, HandshakeMessage};

/// The states of a client, in their order.
pub enum ClientState {
    ReadServerHello(Box<server_hello::ReadServerHello>),
    ReadEncryptedExtensions(Box<encrypted_extensions::ReadEncryptedExtensions>),
    ReadCertificate(Box<certificate::ReadCertificate>),
    ReadCertificateVerify(Box<certificate::ReadCertificateVerify>),
    ReadFinished(Box<finished::ReadFinished>),
    Connected(Box<connected::Connected>),
    /// The owner answers later.
    Waiting(Box<Waiting<ClientQuestion>>),
    /// An error ended the handshake.
    Failed,
}

impl ClientState {
    /// Sends the ClientHello.
    pub(super) fn start(
        config: Checked<ClientConfig>,
        destination: Destination,
        ctx: &mut Context<'_>,
    ) -> Result<Self, Error> {
        let offer = offer::Offer::new(config, destination, ctx.profile, ctx.now)?;
        server_hello::ReadServerHello::start(offer, ctx)
    }
}

impl From<Waiting<ClientQuestion>> for ClientState {
    fn from(waiting: Waiting<ClientQuestion>) -> Self {
        Self::Waiting(Box::new(waiting))
    }
}

impl State for ClientState {
    type Question = ClientQuestion;

    accessors!(ClientQuestion);

    fn receive(self, message: HandshakeMessage<'_>, ctx: &mut Context<'_>) -> Result<Self, Error> {
        match self {
            Self::ReadServerHello(state) => state.receive(message, ctx),
            Self::ReadEncryptedExtensions(state) => state.receive(message, ctx),
            Self::ReadCertificate(state) => state.receive(message, ctx),
            Self::ReadCertificateVerify(state) => state.receive(message, ctx),
            Self::ReadFinished(state) => state.receive(message, ctx),
            Self::Connected(state) => state.receive(message, ctx),
            Self::Waiting(_) | Self::Failed => Err(OUT_OF_TURN),
        }
    }

    fn max_message(&self) -> usize {
        match self {
            Self::ReadFinished(_) | Self::ReadCertificateVerify(_) => MAX_SMALL_MESSAGE,
            _ => MAX_HANDSHAKE_MESSAGE,
        }
    }

    fn saw_data(&mut self) {
        if let Self::Connected(state) = self {
            state.saw_data();
        }
    }

    fn refused(&mut self, alert: AlertDescription) {
        if let Self::Connected(state) = self {
            state.refused(alert);
        }
    }
}
