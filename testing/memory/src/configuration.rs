//! A way to connect as configurations of the engine.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::auth::{Credential, PeerIdentity};
use tessera::crypto::Provider;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::{KnownServerKey, OneTimeKeyGuard};
use tessera::wire::{SignatureScheme, TicketRequest};
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::{SettingFile, credential, trust};
use tessera_vault::{Limits, MemoryVault, TicketKey, TicketKeyRing};
use tessera_webpki::{WebPkiVerifier, kem_public_key_of_certificate};

use crate::Error;
use crate::pki::SERVER_NAME;
use crate::slips::{self, Slip};
use crate::way::Way;

/// Returns the client's configuration.
pub fn client(
    way: Way,
    provider: Provider,
    directory: &Path,
) -> Result<Checked<ClientConfig>, Error> {
    let mut config = ClientConfig::new(provider, verifier(way, directory)?);
    config.groups = way.groups().to_vec();
    config.suites = vec![way.suite()];
    if way.is_mutual() {
        config.credentials = vec![credential(way, directory, "client")?];
    }
    let policy = &mut config.policy;
    policy.resumption = way.is_resumption();
    let tickets = u8::from(way.is_resumption());
    policy.tickets = TicketRequest { new_session_count: tickets, resumption_count: tickets };
    policy.early_data.forward_secret = way.has_early_data().then(|| way.continuation());
    Ok(config.checked()?)
}

/// Returns the server's configuration, with this flaw if there is one.
pub fn server(
    way: Way,
    provider: Provider,
    directory: &Path,
    slip: Option<Slip>,
) -> Result<Checked<ServerConfig>, Error> {
    let mut config = ServerConfig::new(provider, vec![credential(way, directory, "server")?]);
    if way == Way::KnownKey {
        config.credentials.push(kem_credential(directory, "server")?);
    }
    for credential in &mut config.credentials {
        credential.key = slips::private_key(slip, credential.key.clone());
    }
    config.groups = way.groups().to_vec();
    config.suites = vec![way.suite()];
    config.key_log = slips::key_log(slip);
    if way.is_mutual() {
        config.client_authentication = ClientAuthentication::Required(verifier(way, directory)?);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let ring = TicketKeyRing::new(&provider);
    let key = TicketKey::generate(&provider, now, DAY, DAY);
    ring.install(vec![key.map_err(|error| error.to_string())?], now)
        .map_err(|error| error.to_string())?;
    config.tickets = Some(slips::tickets(slip, ring));
    config.policy.tickets = TicketRequest { new_session_count: u8::MAX, resumption_count: 1 };
    if way.has_early_data() {
        let mut limits = Limits::new(CAPACITY);
        if way == Way::FsSeedsPskKe {
            limits.expanded_bytes = 0;
        }
        let vault = slips::vault(slip, MemoryVault::with_limits(limits));
        let mut guard = OneTimeKeyGuard::new(vault);
        guard.kinds = way.groups().to_vec();
        guard.continuation = way.continuation();
        config.policy.early_data.forward_secret = Some(guard);
    }
    Ok(config.checked()?)
}

/// Returns the server's key, if clients know it.
pub fn known_server_key(way: Way, directory: &Path) -> Result<Option<Box<KnownServerKey>>, Error> {
    if way != Way::KnownKey {
        return Ok(None);
    }
    let credential = kem_credential(directory, "server")?;
    let public_key = credential.chain.first().and_then(|it| kem_public_key_of_certificate(it));
    let public_key = public_key.ok_or("the server's certificate has no key of a KEM")?;
    let identity = PeerIdentity { blob: SERVER_NAME.into(), expires_at: None };
    Ok(Some(Box::new(KnownServerKey { public_key, identity })))
}

fn verifier(way: Way, directory: &Path) -> Result<Arc<WebPkiVerifier>, Error> {
    let path = directory.join("root.pem");
    let verifier = trust::roots(SettingFile { setting: "the root", path: &path })?;
    Ok(Arc::new(match way.has_kems() {
        true => verifier.accepting_kems_alone(&[SignatureScheme::KEM_MLKEM768])?,
        false => verifier,
    }))
}

fn credential(way: Way, directory: &Path, name: &str) -> Result<Credential, Error> {
    match way.has_kems() {
        true => kem_credential(directory, name),
        false => load(directory, name),
    }
}

fn kem_credential(directory: &Path, name: &str) -> Result<Credential, Error> {
    load(directory, &format!("{name}-kem"))
}

fn load(directory: &Path, name: &str) -> Result<Credential, Error> {
    let [chain, key] = ["pem", "key"].map(|end| directory.join(format!("{name}.{end}")));
    Ok(credential::load_any(
        SettingFile { setting: "the certificate", path: &chain },
        SettingFile { setting: "its key", path: &key },
    )?)
}

/// More one-time keys than a test has.
const CAPACITY: usize = 100_000;

const DAY: Duration = Duration::from_secs(24 * 3600);
