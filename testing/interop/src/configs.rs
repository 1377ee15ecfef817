//! Tessera's initial configurations for the tests.

use std::sync::Arc;

use tessera::resume::ClientSession;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::UnsealedTickets;

use crate::pki::{Identity, Pki, SERVER_NAME};

/// Returns a client that trusts the authority.
pub fn client(pki: &Pki) -> ClientConfig {
    ClientConfig::new(tessera_aws_lc::provider(), pki.verifier())
}

/// Returns a server with this certificate, and with tickets.
pub fn server(identity: &Identity) -> ServerConfig {
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![identity.credential()]);
    config.tickets = Some(Arc::new(UnsealedTickets));
    config
}

/// Returns the server of these tests as a destination.
pub fn to(session: Option<ClientSession>) -> Destination {
    Destination {
        server_name: SERVER_NAME.into(),
        session: session.map(Box::new),
        ..Destination::default()
    }
}
