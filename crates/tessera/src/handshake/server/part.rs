//! The server's part of a handshake, once both hellos are known.

use super::ServerState;
use super::config::ServerConfig;
use super::questions::ServerQuestion;
use super::ticket_plan::TicketPlan;
use crate::handshake::config::Checked;
use crate::handshake::handover::Part;
use crate::linked::Certificates;
use crate::role::Role;
use crate::schedule::MasterSecret;
use crate::wire::CertificateType;

/// The server's part.
pub struct ServerPart {
    pub(super) config: Checked<ServerConfig>,
    /// No earlier connection and no agreed PSK authenticates the ends.
    pub(super) is_full: bool,
    pub(super) receiving: ExpectedInput,
    pub(super) tickets: TicketPlan,
}

/// What the client sends first after its ClientHello.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedInput {
    EarlyData,
    /// Of the requested type.
    Certificate(CertificateType, Certificates),
    Finished,
}

impl Part for ServerPart {
    type Question = ServerQuestion;
    type State = ServerState;
    type Secrets = MasterSecret;
    type Config = ServerConfig;
    const ROLE: Role = Role::Server;

    fn config(&self) -> &Checked<ServerConfig> {
        &self.config
    }
}
