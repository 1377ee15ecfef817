//! A cell's configurations and stores.

use std::sync::Arc;

use tessera::handshake::Checked;
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, ServerConfig};
use tessera_vault::{Limits, MemoryVault};

use super::super::control::Preparation;
use crate::control;
use crate::endpoint::{Result, Stores, client_configuration, server_configuration};
use crate::engine_names::cipher_suite;
use crate::ways::Way;

/// Returns the client's configuration. Full handshakes request this many tickets, resumptions none: those for the
/// measurement exist beforehand, and other experiments measure issuing.
pub(super) fn client(preparation: &Preparation, sessions: u8) -> Result<Checked<ClientConfig>> {
    let mut config = (*client_configuration(&row(preparation), sessions)?).clone();
    config.suites = vec![cipher_suite(preparation.variant.suite)];
    config.policy.tickets = TicketRequest { new_session_count: sessions, resumption_count: 0 };
    Ok(config.checked()?)
}

/// Returns the server's configuration, with these stores.
pub(super) fn server(preparation: &Preparation, stores: &Stores) -> Result<Checked<ServerConfig>> {
    let mut config = (*server_configuration(&row(preparation), stores)?).clone();
    config.suites = vec![cipher_suite(preparation.variant.suite)];
    Ok(config.checked()?)
}

/// Returns stores that refuse none of a cell's tickets, though all are of one client.
pub(super) fn stores(preparation: &Preparation) -> Result<Stores> {
    let secrets = preparation.tickets.saturating_mul(2).max(1_000);
    let limits = Limits { per_client: secrets, ..Limits::new(secrets) };
    Ok(Stores::new(false)?.with_vault(Arc::new(MemoryVault::with_limits(limits))))
}

fn row(preparation: &Preparation) -> control::Preparation {
    let Preparation { variant, identity, .. } = preparation.clone();
    control::Preparation::new(Way::of_variant(&variant), identity)
}
