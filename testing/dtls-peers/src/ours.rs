//! Our end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::ClientAuthentication;
use tessera::resume::ReplayGuard;
use tessera::wire::{NamedGroup, SignatureScheme};
use tessera::{AssociationOptions, ConnectionId, Facts};
use tessera_interop::{KeyKind, Pki, client, fo_skip_client, server};
use tessera_tokio::{
    Acceptor, ClientDatagramConnection, Connector, DatagramConnector, DatagramListener,
    EndpointOptions, MemorySessionStore, ReceivedDatagram, ServerDatagramConnection,
};
use tessera_vault::{MemoryRegister, RotatingRing};
use tessera_webpki::WebPkiVerifier;

use crate::cases::{Case, SMALL};

/// Our connection.
pub enum Connection {
    Client(ClientDatagramConnection),
    Server(ServerDatagramConnection),
}

/// The connection ID of a client.
pub const CLIENT_ID: [u8; 5] = [1, 2, 3, 4, 5];

/// The groups of an end of ours.
fn groups(case: Case, is_client: bool) -> Vec<NamedGroup> {
    match (case, is_client) {
        // The client sends a share for X25519 at first.
        (Case::Hybrid | Case::FoSkip, true) => vec![NamedGroup::X25519MLKEM768, NamedGroup::X25519],
        (Case::Hybrid, false) => vec![NamedGroup::X25519MLKEM768],
        (Case::Retry, true) => vec![NamedGroup::X25519, NamedGroup::SECP384R1],
        (Case::Retry, false) => vec![NamedGroup::SECP384R1],
        _ => vec![NamedGroup::X25519, NamedGroup::SECP256R1],
    }
}

/// No peer has it.
const KEM: SignatureScheme = SignatureScheme::KEM_MLKEM768;

fn verifier(case: Case, pki: &Pki) -> Arc<WebPkiVerifier> {
    if case == Case::Kems { pki.verifier_with_kems(&[KEM]) } else { pki.verifier() }
}

fn max_datagram(case: Case) -> usize {
    if case == Case::SmallDatagrams { SMALL } else { EndpointOptions::default().max_datagram }
}

/// Returns a server; with `asks`, of clients with certificates.
pub async fn listener(case: Case, pki: &Pki, asks: bool) -> Result<DatagramListener, String> {
    let mut config = server(&pki.server(KeyKind::P256));
    config.groups = groups(case, false);
    if case == Case::Kems {
        config.credentials.insert(0, pki.server_with_kem(KEM).credential());
    }
    if asks {
        config.client_authentication = ClientAuthentication::Required(verifier(case, pki));
    }
    if case == Case::EarlyData {
        config.policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
            register: Arc::new(MemoryRegister::new(1000, Duration::ZERO)),
            max_early_data_size: 4096,
        });
    }
    let acceptor = Acceptor::new(config.checked().map_err(|error| error.to_string())?);
    let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
    let options =
        EndpointOptions { max_datagram: max_datagram(case), ..EndpointOptions::default() };
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    DatagramListener::bind(address, &acceptor, cookies, options).await.map_err(|it| it.to_string())
}

/// Returns a client.
pub fn connector(case: Case, pki: &Pki) -> Result<DatagramConnector, String> {
    let mut config = if case == Case::FoSkip { fo_skip_client(pki) } else { client(pki) };
    config.groups = groups(case, true);
    config.verifier = verifier(case, pki);
    config.credentials = vec![pki.client(KeyKind::P256).credential()];
    if case == Case::Kems {
        config.credentials.insert(0, pki.client_with_kem(KEM).credential());
    }
    config.policy.early_data.replayable_without_forward_secrecy = case == Case::EarlyData;
    let id = if has_connection_ids(case) { &CLIENT_ID[..] } else { &[] };
    let options = AssociationOptions {
        max_datagram: max_datagram(case),
        connection_id: ConnectionId::new(id),
        ..AssociationOptions::default()
    };
    let connector = Connector::new(config.checked().map_err(|error| error.to_string())?);
    let connector = connector.with_sessions(Arc::new(MemorySessionStore::default()));
    Ok(DatagramConnector::new(connector).with_options(options))
}

pub fn has_connection_ids(case: Case) -> bool {
    matches!(
        case,
        Case::ConnectionIds
            | Case::Rebinding
            | Case::NatRebinding
            | Case::Renaming
            | Case::OldRecord
            | Case::Budget
    )
}

/// Does the same with either.
macro_rules! either {
    ($connection:expr, $it:ident => $what:expr) => {
        match $connection {
            Connection::Client($it) => $what,
            Connection::Server($it) => $what,
        }
    };
}

impl Connection {
    pub async fn send(&self, data: &str) -> Result<(), String> {
        let sent = either!(self, it => it.send(data.as_bytes()).await);
        sent.map_err(|error| format!("ours sends: {error}"))
    }

    pub async fn recv(&self) -> Result<Option<ReceivedDatagram>, String> {
        let received = either!(self, it => it.recv().await);
        received.map_err(|error| format!("ours receives: {error}"))
    }

    pub async fn handshake(&self) -> Result<(), String> {
        either!(self, it => it.handshake().await).map_err(|error| format!("our handshake: {error}"))
    }

    pub fn update_keys(&self) -> Result<(), String> {
        either!(self, it => it.update_keys(true)).map_err(|error| format!("our update: {error}"))
    }

    pub async fn close(&self) {
        either!(self, it => it.close().await);
    }

    pub fn facts(&self) -> Facts {
        either!(self, it => it.facts())
    }

    pub fn peer_addr(&self) -> Option<SocketAddr> {
        either!(self, it => it.peer_addr())
    }
}
