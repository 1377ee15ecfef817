//! A way to connect as configurations of the engine.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::auth::Credential;
use tessera::crypto::Provider;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::OneTimeKeyGuard;
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::{SettingFile, credential, trust};
use tessera_vault::{Limits, MemoryVault, TicketKey, TicketKeyRing};
use tessera_webpki::WebPkiVerifier;

use crate::Error;
use crate::slips::{self, Slip};
use crate::way::Way;

/// Returns the client's configuration.
pub fn client(
    way: Way,
    provider: Provider,
    directory: &Path,
) -> Result<Checked<ClientConfig>, Error> {
    let mut config = ClientConfig::new(provider, verifier(directory)?);
    config.groups = way.groups().to_vec();
    config.suites = vec![way.suite()];
    if way == Way::Mutual {
        config.credentials = vec![credential(directory, "client")?];
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
    let mut config = ServerConfig::new(provider, vec![credential(directory, "server")?]);
    config.groups = way.groups().to_vec();
    config.suites = vec![way.suite()];
    config.key_log = slips::key_log(slip);
    if way == Way::Mutual {
        config.client_authentication = ClientAuthentication::Required(verifier(directory)?);
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

fn verifier(directory: &Path) -> Result<Arc<WebPkiVerifier>, Error> {
    let path = directory.join("root.pem");
    Ok(Arc::new(trust::roots(SettingFile { setting: "the root", path: &path })?))
}

fn credential(directory: &Path, name: &str) -> Result<Credential, Error> {
    let [chain, key] = ["pem", "key"].map(|end| directory.join(format!("{name}.{end}")));
    Ok(credential::load(
        SettingFile { setting: "the certificate", path: &chain },
        SettingFile { setting: "its key", path: &key },
    )?)
}

/// More one-time keys than a test has.
const CAPACITY: usize = 100_000;

const DAY: Duration = Duration::from_secs(24 * 3600);
