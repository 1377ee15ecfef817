//! Certificates that travel once.

use std::error::Error;
use std::path::Path;

use tessera::{ClientConfig, ServerConfig};
use tessera_kit::SettingFile;
use tessera_kit::cached_certificates::{KeptClients, KeptServers};

/// Configures a server so that clients' certificates travel once. Call `clients.save()` from time to time, and when the
/// last connection has ended.
pub fn keep_clients(
    config: &mut ServerConfig,
    directory: &Path,
) -> Result<KeptClients, Box<dyn Error>> {
    let directory = SettingFile { setting: "certificates", path: directory };
    let clients = KeptClients::open(directory, &config.provider)?;
    // Placed before compression, which then applies on first contact.
    config.certificate_codecs.insert(0, clients.cache());
    Ok(clients)
}

/// Does the same for a client with one connection at a time. A client with another verifier, or with another certificate of
/// its own, needs a name other than `default`. Call `servers.save()` at the same points.
pub fn keep_servers(
    config: &mut ClientConfig,
    directory: &Path,
) -> Result<KeptServers, Box<dyn Error>> {
    let directory = SettingFile { setting: "certificates", path: directory };
    let servers = KeptServers::open(directory, Path::new("default"), &config.provider, 1)?;
    config.certificate_codecs.insert(0, servers.cache());
    Ok(servers)
}
