//! The client's handshake (RFC 8446 §A.1): one state after the other, each with its own data.

mod certificate;
mod client_hello;
mod config;
mod encrypted_extensions;
mod finished;
mod hello;
mod offer;
#[cfg(test)]
mod tests;
mod tickets;

pub use config::{ClientConfig, Destination};

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::application::Application;
use super::context::Context;
use super::driven::Handshake;
use super::question::{ClientAnswer, ClientQuestion, Sign, Waiting};
use crate::auth::VerifyPeer;
use crate::error::{Error, unexpected_message};
use crate::limits::{MAX_HANDSHAKE_MESSAGE, MAX_SMALL_MESSAGE};
use crate::wire::{HandshakeMessage, SignatureScheme};

/// A client's handshake, and what it knows afterwards.
pub struct ClientHandshake {
    state: ClientState,
}

enum ClientState {
    ReadServerHello(Box<hello::ReadServerHello>),
    ReadEncryptedExtensions(Box<encrypted_extensions::ReadEncryptedExtensions>),
    ReadCertificate(Box<certificate::ReadCertificate>),
    ReadCertificateVerify(Box<certificate::ReadCertificateVerify>),
    VerifyingPeer(Box<Waiting<VerifyPeer, finished::ReadFinished>>),
    ReadFinished(Box<finished::ReadFinished>),
    Signing(Box<Waiting<Sign, (finished::LastFlight, SignatureScheme)>>),
    Connected(Box<tickets::Connected>),
    /// An error ended the handshake.
    Failed,
}

impl ClientHandshake {
    /// Sends the ClientHello.
    pub(crate) fn start(
        config: Arc<ClientConfig>,
        destination: Destination,
        ctx: &mut Context<'_>,
    ) -> Result<Self, Error> {
        let offer = offer::Offer::new(config, destination, ctx.now)?;
        let state = ClientState::ReadServerHello(hello::ReadServerHello::start(offer, ctx));
        Ok(Self { state })
    }

    fn advance(
        &mut self,
        step: impl FnOnce(ClientState) -> Result<ClientState, Error>,
    ) -> Result<(), Error> {
        self.state = step(core::mem::replace(&mut self.state, ClientState::Failed))?;
        Ok(())
    }
}

impl Handshake for ClientHandshake {
    type Question = ClientQuestion;
    type Answer = ClientAnswer;

    fn receive(
        &mut self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        self.advance(|state| match state {
            ClientState::ReadServerHello(state) => state.receive(message, ctx),
            ClientState::ReadEncryptedExtensions(state) => state.receive(message, ctx),
            ClientState::ReadCertificate(state) => state.receive(message, ctx),
            ClientState::ReadCertificateVerify(state) => state.receive(message, ctx),
            ClientState::ReadFinished(state) => state.receive(message, ctx),
            ClientState::Connected(state) => state.receive(message, ctx),
            ClientState::VerifyingPeer(_) | ClientState::Signing(_) | ClientState::Failed => {
                Err(unexpected_message("a message while a question is open"))
            }
        })
    }

    fn question(&mut self) -> Option<Self::Question> {
        match &mut self.state {
            ClientState::VerifyingPeer(state) => state.ask().map(ClientQuestion::VerifyPeer),
            ClientState::Signing(state) => state.ask().map(ClientQuestion::Sign),
            _ => None,
        }
    }

    fn is_waiting(&self) -> bool {
        matches!(self.state, ClientState::VerifyingPeer(_) | ClientState::Signing(_))
    }

    fn answer(&mut self, answer: ClientAnswer, ctx: &mut Context<'_>) -> Result<(), Error> {
        match (&self.state, &answer) {
            (ClientState::VerifyingPeer(_), ClientAnswer::VerifyPeer(_))
            | (ClientState::Signing(_), ClientAnswer::Sign(_)) => (),
            _ => return Err(Error::Misuse("this is not the answer to the open question")),
        }
        self.advance(|state| match (state, answer) {
            (ClientState::VerifyingPeer(state), ClientAnswer::VerifyPeer(answer)) => {
                state.then.verified(answer, ctx)
            }
            (ClientState::Signing(state), ClientAnswer::Sign(answer)) => {
                let (flight, scheme) = state.then;
                flight.signed(scheme, answer, ctx)
            }
            _ => Ok(ClientState::Failed),
        })
    }

    fn max_message(&self) -> usize {
        match self.state {
            ClientState::ReadFinished(_) | ClientState::ReadCertificateVerify(_) => {
                MAX_SMALL_MESSAGE
            }
            _ => MAX_HANDSHAKE_MESSAGE,
        }
    }

    fn application(&mut self) -> Option<&mut Application> {
        match &mut self.state {
            ClientState::Connected(state) => Some(&mut state.application),
            _ => None,
        }
    }
}
