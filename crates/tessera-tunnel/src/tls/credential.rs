//! This end's credential: a certificate chain, or a raw public key.

use std::path::Path;
use std::sync::Arc;

use tessera::Role;
use tessera::auth::{Credential, PrivateKey};
use tessera_kit::{ProgramError, SettingFile, credential, pem};

use crate::config::End;

impl End<'_> {
    /// Returns the certificate with its key; the raw public key of a key without certificate; or nothing.
    pub(super) fn credentials(&self) -> Result<Vec<Credential>, ProgramError> {
        let [certificate_setting, key_setting] =
            ["certificate", "key"].map(|key| self.setting(key));
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

/// Returns a warning if peers that verify the certificate of `[section]` by a `ca` would reject it in this role. That may
/// be intended, for peers that know it by its fingerprint. An unreadable file is skipped: loading it reports the error.
pub(crate) fn warning(section: &str, certificate: Option<&Path>, role: Role) -> Option<String> {
    let (setting, path) = (&format!("[{section}] certificate"), certificate?);
    let chain = pem::certificates(SettingFile { setting, path }).ok()?;
    let why = credential::why_authorities_do_not_help(chain.first()?, role)?;
    Some(format!(
        "{setting}: {} is refused by peers that verify it by a `ca`: {why}; the other end can list it in \
         `fingerprints`",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tessera_pki::Authority;
    use tessera_pki::rcgen::{
        BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    };

    use super::*;

    #[test]
    fn a_certificate_that_no_authority_can_make_valid_is_reported_at_the_start() {
        let issuer = Authority::new("an authority");
        let path = std::env::temp_dir().join(format!("tessera-warning-{}.pem", std::process::id()));
        let of = |change: fn(&mut CertificateParams), role| {
            let leaf = issuer.issue_with(&["db.example"], |it| {
                it.extended_key_usages.clear();
                change(it);
            });
            fs::write(&path, leaf.pem).unwrap();
            warning("server.pg", Some(&path), role)
        };
        let authority: fn(&mut CertificateParams) =
            |it| it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let told = of(authority, Role::Server).unwrap();
        assert!(told.starts_with("[server.pg] certificate: "), "{told}");
        assert!(told.contains("CA:FALSE"), "{told}");
        let server: fn(&mut CertificateParams) =
            |it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        assert_eq!(of(server, Role::Server), None);
        assert!(of(server, Role::Client).unwrap().contains("lacks clientAuth"));
        let plain: fn(&mut CertificateParams) = |it| it.is_ca = IsCa::ExplicitNoCa;
        assert_eq!(of(plain, Role::Client), None);
        // It is its own trust anchor, which is accepted as it is.
        let mut own = CertificateParams::new(["db.example".to_owned()]).unwrap();
        authority(&mut own);
        fs::write(&path, own.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()).unwrap();
        assert_eq!(warning("server.pg", Some(&path), Role::Server), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(warning("server.pg", Some(&path), Role::Server), None);
        assert_eq!(warning("server.pg", None, Role::Server), None);
    }
}
