//! The server's handshake (RFC 8446 §A.2): one state after the other, each with its own data.
//!
//! The answer to a ClientHello is decided in [`decisions`], in order, on one page. Each step
//! is in the file of its name.

mod answers;
mod arrival;
mod authentication;
mod binder;
mod certificate;
mod choose_config;
mod config;
pub(super) mod connected;
mod decisions;
mod early_data;
mod finished;
mod heap;
mod hello;
mod kem;
mod known_key;
mod negotiation;
mod one_time_key;
mod part;
mod psk_candidate;
mod psk_search;
mod questions;
mod receipts;
mod resumption;
mod retry;
mod retry_state;
mod server_hello;
mod stop;
mod ticket_plan;
mod tickets;

pub use arrival::Arrival;
pub use config::{ChooseConfig, ClientAuthentication, ConfigChooser, NoConfig, ServerConfig};
pub use questions::ServerQuestion;
pub use retry_state::RetryState;

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
use crate::schedule::HandshakeSecret;
use crate::wire::HandshakeMessage;

states! {
    /// The states of a server, in their order.
    pub enum ServerState asks ServerQuestion {
        ReadClientHello(Box<decisions::ReadClientHello>): |it| it.limits().client_hello,
        ReadEndOfEarlyData(early_data::ReadEndOfEarlyData): |it| it.0.limits().small_message(),
        ReadCertificate(certificate::ReadCertificate) of Certificates:
            |it| it.handover.limits().certificate_message,
        ReadCertificateVerify(Box<ReadCertificateVerify<part::ServerPart>>) of Certificates:
            |it| it.handover.limits().small_message(),
        ReadFinished(finished::ReadFinished): |it| it.0.limits().small_message(),
        ReadEncapsulation(Box<ReadEncapsulation<part::ServerPart, HandshakeSecret>>) of KemAuthentication:
            |it| it.handover.limits().small_message(),
        ReadKemCertificate(kem::ReadKemCertificate) of KemAuthentication:
            |it| it.handover.limits().certificate_message,
        ReadFirstFinished(kem::ReadFirstFinished) of KemAuthentication: |it| it.0.limits().small_message(),
        // A KeyUpdate.
        Connected(Box<connected::Connected>): |_| MAX_SMALL_MESSAGE,
    }
}

impl ServerState {
    /// Always: before the client's Finished, a server's data goes to a client that isn't authenticated yet.
    fn trusts_keys(&self) -> bool {
        true
    }
}
