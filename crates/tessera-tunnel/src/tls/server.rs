//! The TLS configuration of a server end.

use std::sync::Arc;

use tessera::ServerConfig;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::wire::TicketRequest;
use tessera_kit::ProgramError;

use crate::config::{Early, ServerSection};
use crate::peers;
use tessera_proxy::stores::Stores;

/// Loads the configuration of the section of this name; a reload passes the existing stores.
///
/// # Errors
/// If the section contradicts itself, a file can't be read or is malformed, or their contents can't be used together.
pub fn server(
    name: &str,
    section: &ServerSection,
    stores: &Stores,
) -> Result<Checked<ServerConfig>, ProgramError> {
    section.check(name)?;
    let own = section.end(name);
    let mut config = ServerConfig::new(own.provider(), own.credentials()?);
    own.choose(&mut config.groups, &mut config.suites);
    config.certificate_codecs = tessera_compression::codecs();
    config.handshake_timeout = section.limits.handshake;
    config.external_psks = peers::psks(&section.peers, &own.label)?;
    if section.peers.uses_certificates() {
        let allowed = peers::allowed(&section.peers, tessera::Role::Client, &own.label)?;
        config.client_authentication = ClientAuthentication::Required(Arc::new(allowed));
    }
    config.tickets = Some(stores.tickets.clone());
    config.policy.tickets = TICKETS;
    if section.early == Early::Fs {
        let mut guard = OneTimeKeyGuard::new(stores.vault.clone());
        // For clients that offer it: the choice is theirs (`early-key-exchange`).
        guard.continuation = Continuation::PskKe;
        guard.receipts = Some(stores.receipts.clone());
        let wanted: Vec<_> =
            config.groups.iter().copied().filter(|group| guard.kinds.contains(group)).collect();
        if !wanted.is_empty() {
            guard.kinds = wanted;
        }
        config.policy.early_data.forward_secret = Some(guard);
        config.judge = Some(Arc::new(super::backend_first::BackendFirstJudge));
    }
    config.checked().map_err(|error| own.by_key(error))
}

/// Each connection uses one ticket and brings another. A client with N connections at a time resumes them all, once
/// enough full handshakes have brought N tickets.
pub(super) const TICKETS: TicketRequest =
    TicketRequest { new_session_count: 4, resumption_count: 1 };
