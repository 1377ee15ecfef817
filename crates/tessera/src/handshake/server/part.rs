//! What only a server has of a handshake, once both hellos are known.

use alloc::boxed::Box;
use alloc::string::String;

use super::ServerState;
use super::config::ServerConfig;
use super::finished::ReadFinished;
use super::questions::ServerQuestion;
use super::tickets::TicketPlan;
use crate::auth::{Credential, PeerVerifier, VerifierDigest};
use crate::error::Error;
use crate::handshake::config::Checked;
use crate::handshake::context::SecretLog;
use crate::handshake::finished::ApplicationSecrets;
use crate::handshake::handover::{Handover, Part};
use crate::role::Role;
use crate::wire::CertificateType;

/// The server's part.
pub struct ServerPart {
    pub(super) config: Checked<ServerConfig>,
    pub(super) client_random: [u8; 32],
    /// No PSK is used.
    pub(super) is_full: bool,
    pub(super) receiving: Receiving,
    pub(super) tickets: TicketPlan,
}

/// What the client sends first after its ClientHello.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiving {
    EarlyData,
    /// Of the type that it was asked for.
    Certificate(CertificateType),
    Finished,
}

impl Part for ServerPart {
    type Question = ServerQuestion;
    type State = ServerState;
    type Secrets = ApplicationSecrets;
    const ROLE: Role = Role::Server;

    fn credentials(&self) -> &[Credential] {
        &self.config.credentials
    }

    fn verifier(&self) -> Result<&dyn PeerVerifier, Error> {
        // It was there when the client was asked.
        let verifier = self.config.client_authentication.verifier();
        verifier.ok_or(Error::Internal("a client's certificate without a verifier"))
    }

    fn verifier_digest(&self) -> Option<VerifierDigest> {
        self.config.authentication().verifier
    }

    fn peer_name(&self) -> Option<String> {
        None
    }

    fn secret_log(&self) -> SecretLog<'_> {
        let key_log = self.config.key_log.as_deref();
        SecretLog { key_log, client_random: &self.client_random }
    }

    fn read_finished(handover: Box<Handover<Self, ApplicationSecrets>>) -> ServerState {
        ServerState::ReadFinished(ReadFinished(handover))
    }
}
