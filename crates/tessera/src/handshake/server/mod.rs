//! The server's handshake (RFC 8446 §A.2): one state after the other, each with its own data.

mod authentication;
mod certificate;
mod config;
mod decision;
mod early_data;
mod finished;
mod hello;
mod identities;
mod negotiation;
mod one_time_key;
mod receipts;
mod server_hello;
mod tickets;

pub use config::{ClientAuthentication, ConfigChooser, ServerConfig};

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::application::Application;
use super::config::Checked;
use super::context::Context;
use super::driven::Handshake;
use super::question::{ChooseConfig, ServerAnswer, ServerQuestion, Sign, Waiting};
use crate::auth::VerifyPeer;
use crate::error::{Error, unexpected_message};
use crate::limits::{MAX_CLIENT_HELLO, MAX_HANDSHAKE_MESSAGE, MAX_SMALL_MESSAGE};
use crate::resume::{AcceptResumption, OpenTicket, SettleReceipt, TakePurpose, TakeSecret};
use crate::wire::{HandshakeMessage, SignatureScheme};
use decision::Decided;
use hello::{Paused, Received};
use negotiation::Negotiation;

/// A server's handshake, and what it knows afterwards.
pub struct ServerHandshake {
    state: ServerState,
}

enum ServerState {
    ReadClientHello(Box<hello::ReadClientHello>),
    ChoosingConfig(Box<Waiting<ChooseConfig, Vec<u8>>>),
    OpeningTicket(Box<Waiting<OpenTicket, (Paused<Negotiation>, usize)>>),
    AcceptingResumption(Box<Waiting<AcceptResumption, Paused<Decided>>>),
    SettlingReceipt(Box<Waiting<SettleReceipt, (Paused<Decided>, bool)>>),
    TakingSecret(Box<Waiting<TakeSecret, (Paused<Decided>, TakePurpose)>>),
    Signing(Box<Waiting<Sign, (server_hello::Flight, SignatureScheme)>>),
    ReadEndOfEarlyData(Box<early_data::ReadEndOfEarlyData>),
    ReadCertificate(Box<certificate::ReadCertificate>),
    ReadCertificateVerify(Box<certificate::ReadCertificateVerify>),
    VerifyingPeer(Box<Waiting<VerifyPeer, Box<finished::ReadFinished>>>),
    ReadFinished(Box<finished::ReadFinished>),
    Connected(Box<finished::Connected>),
    /// An error ended the handshake.
    Failed,
}

impl ServerHandshake {
    /// Waits for a ClientHello.
    pub(crate) fn start(config: Checked<ServerConfig>) -> Self {
        let hello = hello::ReadClientHello::first(config.shared());
        Self { state: ServerState::ReadClientHello(hello) }
    }

    fn advance(
        &mut self,
        step: impl FnOnce(ServerState) -> Result<ServerState, Error>,
    ) -> Result<(), Error> {
        self.state = step(core::mem::replace(&mut self.state, ServerState::Failed))?;
        Ok(())
    }
}

impl Handshake for ServerHandshake {
    type Question = ServerQuestion;
    type Answer = ServerAnswer;

    fn receive(
        &mut self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        self.advance(|state| match state {
            ServerState::ReadClientHello(state) => state.receive(message, ctx),
            ServerState::ReadEndOfEarlyData(state) => state.receive(message, ctx),
            ServerState::ReadCertificate(state) => state.receive(message, ctx),
            ServerState::ReadCertificateVerify(state) => state.receive(message, ctx),
            ServerState::ReadFinished(state) => state.receive(message, ctx),
            ServerState::Connected(state) => state.receive(message, ctx),
            ServerState::ChoosingConfig(_)
            | ServerState::OpeningTicket(_)
            | ServerState::AcceptingResumption(_)
            | ServerState::SettlingReceipt(_)
            | ServerState::TakingSecret(_)
            | ServerState::Signing(_)
            | ServerState::VerifyingPeer(_)
            | ServerState::Failed => Err(unexpected_message("a message while a question is open")),
        })
    }

    fn question(&mut self) -> Option<Self::Question> {
        match &mut self.state {
            ServerState::ChoosingConfig(state) => state.ask().map(ServerQuestion::ChooseConfig),
            ServerState::OpeningTicket(state) => state.ask().map(ServerQuestion::OpenTicket),
            ServerState::AcceptingResumption(state) => {
                state.ask().map(ServerQuestion::AcceptResumption)
            }
            ServerState::SettlingReceipt(state) => state.ask().map(ServerQuestion::SettleReceipt),
            ServerState::TakingSecret(state) => state.ask().map(ServerQuestion::TakeSecret),
            ServerState::VerifyingPeer(state) => state.ask().map(ServerQuestion::VerifyPeer),
            ServerState::Signing(state) => state.ask().map(ServerQuestion::Sign),
            _ => None,
        }
    }

    fn is_waiting(&self) -> bool {
        matches!(
            self.state,
            ServerState::ChoosingConfig(_)
                | ServerState::OpeningTicket(_)
                | ServerState::AcceptingResumption(_)
                | ServerState::SettlingReceipt(_)
                | ServerState::TakingSecret(_)
                | ServerState::VerifyingPeer(_)
                | ServerState::Signing(_)
        )
    }

    fn answer(&mut self, answer: ServerAnswer, ctx: &mut Context<'_>) -> Result<(), Error> {
        use ServerAnswer as A;
        use ServerState as S;
        match (&self.state, &answer) {
            (S::ChoosingConfig(_), A::ChooseConfig(_))
            | (S::OpeningTicket(_), A::OpenTicket(_))
            | (S::AcceptingResumption(_), A::AcceptResumption(_))
            | (S::SettlingReceipt(_), A::SettleReceipt(_))
            | (S::TakingSecret(_), A::TakeSecret(_))
            | (S::VerifyingPeer(_), A::VerifyPeer(_))
            | (S::Signing(_), A::Sign(_)) => (),
            _ => return Err(Error::Misuse("this is not the answer to the open question")),
        }
        self.advance(|state| match (state, answer) {
            (S::ChoosingConfig(state), A::ChooseConfig(answer)) => {
                hello::configured(answer, &Received::again(&state.then)?, ctx)
            }
            (S::OpeningTicket(state), A::OpenTicket(answer)) => {
                let (paused, index) = state.then;
                paused.opened(index, answer, ctx)
            }
            (S::AcceptingResumption(state), A::AcceptResumption(answer)) => {
                state.then.judged(answer, ctx)
            }
            (S::SettlingReceipt(state), A::SettleReceipt(answer)) => {
                let (paused, early_data_allowed) = state.then;
                paused.receipt_settled(early_data_allowed, answer, ctx)
            }
            (S::TakingSecret(state), A::TakeSecret(answer)) => {
                let (paused, purpose) = state.then;
                paused.taken(purpose, answer, ctx)
            }
            (S::VerifyingPeer(state), A::VerifyPeer(answer)) => state.then.verified(answer, ctx),
            (S::Signing(state), A::Sign(answer)) => {
                let (flight, scheme) = state.then;
                flight.signed(scheme, answer, ctx)
            }
            _ => Ok(S::Failed),
        })
    }

    fn max_message(&self) -> usize {
        match self.state {
            ServerState::ReadClientHello(_) => MAX_CLIENT_HELLO,
            ServerState::ReadCertificate(_) => MAX_HANDSHAKE_MESSAGE,
            _ => MAX_SMALL_MESSAGE,
        }
    }

    fn application(&mut self) -> Option<&mut Application> {
        match &mut self.state {
            ServerState::Connected(state) => Some(&mut state.application),
            _ => None,
        }
    }
}
