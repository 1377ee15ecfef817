//! The server's handshake (RFC 8446 §A.2): one state after the other, each with its own data.
//!
//! What a ClientHello is answered with is decided in [`decisions`], in order, on one page. Each step
//! stands in the file that bears its name.

mod answers;
mod authentication;
mod binder;
mod certificate;
mod config;
mod configuration;
mod connected;
mod decisions;
mod early_data;
mod finished;
mod hello;
mod negotiation;
mod one_time_key;
mod pause;
mod psk_candidate;
mod psk_search;
mod questions;
mod receipts;
mod resumption;
mod retry;
mod retry_state;
mod server_hello;
mod tickets;

pub use config::{ChooseConfig, ClientAuthentication, ConfigChooser, NoConfig, ServerConfig};
pub use questions::ServerQuestion;

use alloc::boxed::Box;

use super::application::Application;
use super::config::Checked;
use super::context::Context;
use super::state::{OUT_OF_TURN, State, accessors};
use crate::error::Error;
use crate::limits::{MAX_CLIENT_HELLO, MAX_HANDSHAKE_MESSAGE, MAX_SMALL_MESSAGE};
use crate::question::Waiting;
use crate::wire::HandshakeMessage;

/// The states of a server, in their order.
pub enum ServerState {
    ReadClientHello(Box<decisions::ReadClientHello>),
    ReadEndOfEarlyData(Box<early_data::ReadEndOfEarlyData>),
    ReadCertificate(Box<certificate::ReadCertificate>),
    ReadCertificateVerify(Box<certificate::ReadCertificateVerify>),
    ReadFinished(Box<finished::ReadFinished>),
    Connected(Box<connected::Connected>),
    /// The owner answers later.
    Waiting(Box<Waiting<ServerQuestion>>),
    /// An error ended the handshake.
    Failed,
}

impl ServerState {
    /// Waits for a ClientHello.
    pub(super) fn start(config: Checked<ServerConfig>) -> Self {
        Self::ReadClientHello(Box::new(decisions::ReadClientHello::new(config)))
    }
}

impl From<Waiting<ServerQuestion>> for ServerState {
    fn from(waiting: Waiting<ServerQuestion>) -> Self {
        Self::Waiting(Box::new(waiting))
    }
}

impl State for ServerState {
    type Question = ServerQuestion;

    accessors!(ServerQuestion);

    fn receive(self, message: HandshakeMessage<'_>, ctx: &mut Context<'_>) -> Result<Self, Error> {
        match self {
            Self::ReadClientHello(state) => state.receive(message, ctx),
            Self::ReadEndOfEarlyData(state) => state.receive(message, ctx),
            Self::ReadCertificate(state) => state.receive(message, ctx),
            Self::ReadCertificateVerify(state) => state.receive(message, ctx),
            Self::ReadFinished(state) => state.receive(message, ctx),
            Self::Connected(state) => state.receive(message, ctx),
            Self::Waiting(_) | Self::Failed => Err(OUT_OF_TURN),
        }
    }

    fn max_message(&self) -> usize {
        match self {
            Self::ReadClientHello(_) => MAX_CLIENT_HELLO,
            Self::ReadCertificate(_) => MAX_HANDSHAKE_MESSAGE,
            _ => MAX_SMALL_MESSAGE,
        }
    }
}
