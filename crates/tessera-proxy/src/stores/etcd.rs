//! Clients of etcd.

use std::sync::Arc;
use std::time::Duration;

use tessera::ClientConfig;
use tessera_etcd::{EtcdClient, Transport};
use tessera_kit::{ProgramError, SettingFile, credential, trust};
use tessera_tokio::Connector;

use super::config::EtcdSection;

/// Creates a client of a section's etcd, without connecting. `section` is the section's name in errors.
///
/// # Errors
/// If a file that it names is invalid.
pub fn etcd_client(
    section: &str,
    etcd: &EtcdSection,
    deadline: Duration,
) -> Result<EtcdClient, ProgramError> {
    etcd.check(section)?;
    let transport = match (&etcd.ca, &etcd.server_name) {
        (Some(ca), Some(server_name)) => {
            let settings =
                ["ca", "certificate", "key"].map(|key| format!("[{section}] etcd.{key}"));
            let [ca_setting, certificate, key] = settings.each_ref().map(String::as_str);
            let verifier = trust::roots(SettingFile { setting: ca_setting, path: ca })?;
            let provider = tessera_aws_lc::provider();
            let verifier = Arc::new(trust::remembering(verifier)?);
            let mut config = ClientConfig::new(provider, verifier);
            if let Some(path) = &etcd.certificate {
                let key_path = etcd.key.as_ref().unwrap_or(path);
                config.credentials = vec![credential::load(
                    SettingFile { setting: certificate, path },
                    SettingFile { setting: key, path: key_path },
                )?];
            }
            let connector = Connector::new(config.checked()?);
            Transport::Tls { connector, server_name: server_name.clone() }
        }
        _ if etcd.plaintext_on_private_network => Transport::PlaintextOnPrivateNetwork,
        _ => {
            return Err(ProgramError::settings(format!(
                "[{section}] etcd: set ca and server-name, which verify the certificates of its members"
            )));
        }
    };
    Ok(EtcdClient::new(etcd.endpoints.clone(), transport, deadline))
}
