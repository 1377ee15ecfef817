//! Dials the backend, and passes on what is known about the client.

use std::net::SocketAddr;
use std::time::Instant;

use tessera::Facts;
use tessera_proxy::dial::DialError;
use tessera_proxy::proxy_protocol::{Addresses, Command, Header, HeaderError, Tls};
use tessera_proxy::socket::Socket;

use super::Shared;
use crate::config::ServerSection;
use crate::metrics::DialResult;
use crate::peers;

/// Dials the backend once, all its addresses in turn.
pub(super) async fn dial(shared: &Shared) -> Result<Socket, DialError> {
    let settings = shared.settings();
    let began = Instant::now();
    let dialled = settings.dialler.dial().await;
    match &dialled {
        Ok(_) => shared.metrics.dialled(began.elapsed()),
        Err(error) => shared.metrics.dials.count(DialResult::of(error.kind())),
    }
    dialled
}

/// The two addresses of the client's connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionAddresses {
    /// The client's address, if known, also from a load balancer's header.
    pub(super) client: Option<SocketAddr>,
    /// The address that it connected to.
    pub(super) server: Option<SocketAddr>,
}

/// Returns the PROXY header for the backend; `None` if none is sent.
pub(super) fn header(
    section: &ServerSection,
    between: ConnectionAddresses,
    facts: &Facts,
) -> Result<Option<Vec<u8>>, HeaderError> {
    if !section.send_proxy {
        return Ok(None);
    }
    let addresses = match between {
        ConnectionAddresses { client: Some(source), server: Some(destination) } => {
            Addresses::Ip { source, destination }
        }
        _ => Addresses::Unspecified,
    };
    let mut header = Header { command: Command::Proxy, addresses, ..Header::default() };
    if section.send_proxy_identity {
        let by_certificate = facts.peer.is_some();
        header.authority = facts.server_name.clone();
        header.identity = identity(facts).map(peers::identity_for_backend);
        header.flight = facts.flight.map(|flight| flight.0.to_vec());
        header.tls = Some(Tls {
            is_encrypted: true,
            gave_certificate: by_certificate && facts.psk.is_none(),
            gave_certificate_in_session: by_certificate,
            is_verified: by_certificate,
            version: Some("TLSv1.3".to_owned()),
            cipher: facts.suite.map(|suite| format!("{suite:?}")),
            ..Tls::default()
        });
    }
    header.write().map(Some)
}

/// Returns the client's identity: the verifier's, or `psk:` and the identity of its external PSK.
pub(super) fn identity(facts: &Facts) -> Option<Vec<u8>> {
    let by_psk = || facts.external_psk.as_ref().map(|psk| [b"psk:", psk.as_slice()].concat());
    facts.peer.as_ref().map(|peer| peer.blob.clone()).or_else(by_psk)
}
