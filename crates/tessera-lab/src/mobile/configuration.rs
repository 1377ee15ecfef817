//! The configurations of both ends of our arms.

use tessera::handshake::{Checked, ClientAuthentication};
use tessera::{AssociationOptions, ClientConfig, ConnectionId, ServerConfig};
use tessera_endpoint::{EndpointOptions, OwnSockets, ResetKey, SocketPolicy};
use tessera_reports::{Continuation, KeyExchange, Mode, OneTimeKey};

use super::arm::Arm;
use super::scenario::Change;
use crate::control::Preparation;
use crate::endpoint::{Result, Stores, anonymous_client_config, server_config};
use crate::pki::Identity;
use crate::ways::Way;

/// How many tickets a handshake brings.
const TICKETS: u8 = 2;

/// Returns how a client connects again whose association is lost.
fn mode(arm: Arm, change: Change) -> Mode {
    match arm.survives() && change == Change::Restart {
        true => Mode::ZeroRttFs,
        false => arm.mode(),
    }
}

fn preparation(mode: Mode, identity: &Identity) -> Preparation {
    let (ticket_key, continuation) = match mode {
        Mode::ZeroRttFs => {
            (Some(OneTimeKey::from(KeyExchange::X25519)), Some(Continuation::PskDheKe))
        }
        _ => (None, None),
    };
    let kx = Some(KeyExchange::X25519);
    let way = Way { mode, kx, ticket_key, continuation, fast_open: false };
    let tickets = if mode == Mode::Full { 0 } else { TICKETS };
    Preparation { tickets, ..Preparation::new(way, identity.clone()) }
}

/// Returns the client's. Only the root of its identity counts: the server alone has a certificate.
pub(super) fn client(
    arm: Arm,
    change: Change,
    identity: &Identity,
) -> Result<Checked<ClientConfig>> {
    let preparation = preparation(mode(arm, change), identity);
    Ok(anonymous_client_config(&preparation, preparation.tickets)?.checked()?)
}

/// Returns the server's.
pub(super) fn server(
    arm: Arm,
    change: Change,
    identity: &Identity,
) -> Result<Checked<ServerConfig>> {
    let preparation = preparation(mode(arm, change), identity);
    let mut config = server_config(&preparation, &Stores::new(false)?)?;
    config.client_authentication = ClientAuthentication::None;
    if preparation.tickets == 0 {
        config.tickets = None;
    }
    Ok(config.checked()?)
}

/// Returns what is specific to each association of the client.
pub(super) fn association(arm: Arm) -> AssociationOptions {
    AssociationOptions {
        // Of IPC any client is one, as those of other stacks.
        connection_id: (arm.survives() && arm != Arm::Ipc).then(ConnectionId::default),
        checks_paths: matches!(arm, Arm::Tcs | Arm::CidRrc | Arm::CidRrcStrict),
        follows_to: (arm == Arm::Tcs).then(Vec::new),
        ..AssociationOptions::default()
    }
}

/// Returns the options of the server's endpoint.
pub(super) fn endpoint(arm: Arm) -> EndpointOptions {
    EndpointOptions {
        // Of one instance, for as long as the experiment runs.
        reset_key: Some(ResetKey::new(&[1; ResetKey::LEN])),
        own_sockets: match arm {
            Arm::Ipc => Some(OwnSockets::new(SocketPolicy::Ipc)),
            Arm::Tcs => Some(OwnSockets::new(SocketPolicy::Tcs)),
            _ => None,
        },
        waits_for_path_response: arm == Arm::CidRrcStrict,
        ..EndpointOptions::default()
    }
}
