//! This end's own proof: a certificate chain, or a raw public key.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera_kit::{ProgramError, SettingFile, credential, pem};

use super::Own;

impl Own<'_> {
    /// The certificate with its key; the raw public key of a key that has no certificate; or none.
    pub(super) fn credentials(&self) -> Result<Vec<Credential>, ProgramError> {
        let [certificate_setting, key_setting] =
            ["certificate", "key"].map(|key| format!("[{}] {key}", self.section));
        let setting = &key_setting;
        match (self.certificate, self.key) {
            (None, None) => Ok(Vec::new()),
            (None, Some(path)) => {
                let key = pem::private_key(SettingFile { setting, path })?;
                let public_key = key.public_key_info();
                let public_key = public_key.map_err(|error| ProgramError::in_file(path, error))?;
                Ok(vec![Credential::raw_public_key(public_key, PrivateKey::Signs(Arc::new(key)))])
            }
            (Some(path), key) => {
                let certificate = SettingFile { setting: &certificate_setting, path };
                let key = SettingFile { setting, path: key.unwrap_or(path) };
                Ok(vec![credential::load(certificate, key)?])
            }
        }
    }
}
