//! The store of one sidecar, served to the few others of a site by mutual TLS.

use std::sync::Arc;

use tessera::ServerConfig;
use tessera::handshake::ClientAuthentication;
use tessera_etcd::gateway;
use tessera_kit::{ProgramError, SettingFile, credential, trust};
use tessera_proxy::logging::tracing;
use tessera_store::Store;
use tessera_tokio::{Acceptor, Limits, Server};
use tokio::net::TcpListener;

use crate::config::ServeSection;

/// The most connections: a few for each of a site's sidecars.
const CONNECTIONS: usize = 64;

/// Serves the store until the process ends.
pub(crate) fn start(section: &ServeSection, store: Arc<dyn Store>) -> Result<(), ProgramError> {
    let acceptor = acceptor(section)?;
    let failed = |error| {
        ProgramError::failed(format_args!("[ring] serve.listen: {}", section.listen), error)
    };
    let listener = std::net::TcpListener::bind(section.listen).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let listener = TcpListener::from_std(listener).map_err(failed)?;
    let server = Server::new(listener, acceptor, Limits::for_connections(CONNECTIONS));
    tokio::spawn(server.run(std::future::pending(), move |client| {
        let store = store.clone();
        async move {
            let address = client.address;
            if let Err(error) = gateway::serve(store, client.stream).await {
                tracing::debug!(%address, "a connection to the store ended: {error}");
            }
        }
    }));
    Ok(())
}

/// Returns an acceptor that admits the other sidecars alone.
pub(crate) fn acceptor(section: &ServeSection) -> Result<Acceptor, ProgramError> {
    let setting = |key: &str| format!("[ring] serve.{key}");
    let [certificate, key, ca] = ["certificate", "key", "ca"].map(setting);
    let verifier = trust::roots(SettingFile { setting: &ca, path: &section.ca })?;
    let own = credential::load(
        SettingFile { setting: &certificate, path: &section.certificate },
        SettingFile { setting: &key, path: section.key.as_ref().unwrap_or(&section.certificate) },
    )?;
    let mut config = ServerConfig::new(tessera_aws_lc::provider(), vec![own]);
    config.client_authentication =
        ClientAuthentication::Required(Arc::new(trust::remembering(verifier)?));
    config.protocols = vec![b"http/1.1".to_vec()];
    Ok(Acceptor::new(config.checked()?))
}
