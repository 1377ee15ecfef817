//! What a configuration names: the store, and the API's certificates.

use std::sync::Arc;
use std::time::Duration;

use tessera::ServerConfig;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera_kit::{ProgramError, SettingFile, credential, trust};
use tessera_proxy::stores::{etcd_client, open_store};
use tessera_store::Store;

use crate::config::{ApiSection, PoolSection};

/// How long a request to etcd may take.
const DEADLINE: Duration = Duration::from_secs(2);

/// Opens the store. In etcd it need not be reached now. Blocks for a moment with a file.
pub(crate) fn store(pool: &PoolSection) -> Result<Arc<dyn Store>, ProgramError> {
    open_store("pool", pool.etcd.as_ref(), pool.file.as_deref(), DEADLINE)
}

/// Checks what opens the store, without opening it.
pub(crate) fn check_store(pool: &PoolSection) -> Result<(), ProgramError> {
    match &pool.etcd {
        Some(etcd) => etcd_client("pool", etcd, DEADLINE).map(|_| ()),
        None => Ok(()),
    }
}

/// Returns the configuration of the API's connections: every caller shows a certificate.
pub(crate) fn api(section: &ApiSection) -> Result<Checked<ServerConfig>, ProgramError> {
    let verifier = trust::roots(SettingFile { setting: "[api] ca", path: &section.ca })?;
    let key = section.key.as_ref().unwrap_or(&section.certificate);
    let own = credential::load(
        SettingFile { setting: "[api] certificate", path: &section.certificate },
        SettingFile { setting: "[api] key", path: key },
    )?;
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![own]);
    config.client_authentication =
        ClientAuthentication::Required(Arc::new(trust::remembering(verifier)?));
    config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config.checked()?)
}
