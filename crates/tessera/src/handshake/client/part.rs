//! The client's part of a handshake, once both hellos are known.

use alloc::boxed::Box;
use alloc::string::String;

use super::ClientState;
use super::config::ClientConfig;
use super::offer::Offer;
use super::questions::ClientQuestion;
use crate::handshake::config::Checked;
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::handover::Part;
use crate::linked::Certificates;
use crate::resume::SettledFlights;
use crate::role::Role;
use crate::schedule::HandshakeSecret;
use crate::wire::{EntryExtensions, NamedGroup, SignatureScheme};

/// The client's part.
pub struct ClientPart {
    pub(super) offer: Box<Offer>,
    pub(super) group: Option<NamedGroup>,
    /// The server's answer to the early data.
    pub(super) early_data: EarlyDataStatus,
    /// The server's receipts for earlier flights.
    pub(super) receipts: SettledFlights,
    /// How many records of the early data the server has taken.
    pub(super) early_records_taken: Option<u32>,
    /// What the client sends if the server asks for a certificate.
    pub(super) certificate_request: Option<Certificates<CertificateAnswer>>,
}

/// The client's answer to a CertificateRequest.
pub(super) struct CertificateAnswer {
    /// The fitting credential, as an index into the configuration, and the scheme to sign with.
    pub(super) credential: Option<(usize, SignatureScheme)>,
    /// The same for a server that authenticates with a KEM: one of a KEM.
    pub(super) kem: Option<(usize, SignatureScheme)>,
    /// What the server wants with the certificates.
    pub(super) entry_extensions: EntryExtensions,
}

impl Part for ClientPart {
    type Question = ClientQuestion;
    type State = ClientState;
    type Secrets = HandshakeSecret;
    type Config = ClientConfig;
    const ROLE: Role = Role::Client;

    fn config(&self) -> &Checked<ClientConfig> {
        &self.offer.config
    }

    fn peer_name(&self) -> Option<String> {
        Some(self.offer.server_name.clone())
    }
}
