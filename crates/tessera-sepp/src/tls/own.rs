//! What this SEPP presents, in both roles.

use tessera::Role;
use tessera::auth::{Credential, VerifierDigest, VerifierPolicy};
use tessera_kit::{ProgramError, SettingFile, credential, files};

use crate::config::Local;
use crate::identity::Listener;
use crate::names::Fqdn;

/// The certificate with its key, and values derived from it.
pub(super) struct OwnCertificate {
    pub(super) credential: Credential,
    /// The names in the certificate, which peers may send as server name.
    pub(super) names: Vec<Fqdn>,
    /// Its end of validity, in seconds since the Unix epoch.
    pub(super) expires_at: u64,
    fqdn: Fqdn,
}

impl OwnCertificate {
    /// Loads the files of `[local]`.
    ///
    /// # Errors
    /// If a file can't be read or is invalid, or the certificate lacks the name of this SEPP, or doesn't allow both
    /// roles.
    pub(super) fn load(local: &Local) -> Result<Self, ProgramError> {
        let certificate = SettingFile { setting: "[local] certificate", path: &local.certificate };
        let key_path = local.key.as_ref().unwrap_or(&local.certificate);
        let key = SettingFile { setting: "[local] key", path: key_path };
        let mut credential = credential::load(certificate, key)?;
        let wrong = |what: String| ProgramError::in_file(&local.certificate, what);
        let leaf = credential.chain.first().map(Vec::as_slice).unwrap_or_default();
        let names = tessera_webpki::dns_names(leaf).map_err(|error| wrong(error.to_string()))?;
        let names: Vec<Fqdn> = names.iter().filter_map(|name| name.parse().ok()).collect();
        if !names.contains(&local.fqdn) {
            let what =
                "[local] fqdn is not among the names (subjectAltName) of the first certificate";
            return Err(wrong(format!("{what}: {}; it has {names:?}", local.fqdn)));
        }
        // TS 33.310 §6.1.3c: one certificate, both roles.
        for role in [Role::Client, Role::Server] {
            if let Some(why) = credential::why_authorities_do_not_help(leaf, role) {
                return Err(wrong(format!("peers refuse the first certificate: {why}")));
            }
        }
        let expires_at = tessera_webpki::expires_at(leaf);
        let expires_at = expires_at
            .ok_or_else(|| wrong("its notAfter is unreadable; issue it again".to_owned()))?;
        if let Some(path) = &local.ocsp {
            let file = SettingFile { setting: "[local] ocsp", path };
            credential.ocsp_response = Some(ocsp_response(file)?);
        }
        Ok(Self { credential, names, expires_at, fqdn: local.fqdn.clone() })
    }

    /// Returns what every ticket is bound to of this SEPP: a new certificate invalidates the tickets of all peers.
    pub(super) fn epoch(&self) -> Vec<Vec<u8>> {
        let leaf = self.credential.chain.first().cloned().unwrap_or_default();
        vec![self.fqdn.as_str().as_bytes().to_vec(), leaf]
    }

    /// Returns the scope that tickets of a listener must not leave.
    pub(super) fn scope(&self, listener: Listener) -> Vec<u8> {
        let policy = VerifierPolicy::new("tessera-sepp: scope, 1")
            .with(listener.as_str().as_bytes())
            .with(self.fqdn.as_str().as_bytes());
        VerifierDigest::of(&policy, &tessera_aws_lc::provider()).0.to_vec()
    }
}

/// Reads a complete OCSPResponse (RFC 6960 §4.2.1), DER, as responders send it.
fn ocsp_response(file: SettingFile<'_>) -> Result<Vec<u8>, ProgramError> {
    let bytes = files::read(file, MAX_OCSP)?.to_vec();
    if !is_sequence(&bytes) {
        return Err(ProgramError::in_file(
            file.path,
            format_args!(
                "this is not an OCSP response; {} takes DER, as openssl ocsp -respout writes it",
                file.setting
            ),
        ));
    }
    Ok(bytes)
}

/// Returns whether it is exactly one DER SEQUENCE.
fn is_sequence(der: &[u8]) -> bool {
    let (len, header) = match der {
        [0x30, len @ ..=0x7f, ..] => (usize::from(*len), 2),
        [0x30, 0x81, len, ..] => (usize::from(*len), 3),
        [0x30, 0x82, high, low, ..] => (usize::from(u16::from_be_bytes([*high, *low])), 4),
        _ => return false,
    };
    der.len() == header + len
}

/// An upper bound for the OCSP response of a certificate (RFC 8446 §4.4.2).
const MAX_OCSP: usize = 32 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staple_is_one_sequence() {
        let long = [&[0x30, 0x82, 1, 0][..], &[0; 256]].concat();
        for whole in [&[0x30, 0][..], &[0x30, 1, 7], &[0x30, 0x81, 1, 7], &long] {
            assert!(is_sequence(whole), "{whole:?}");
        }
        for other in [&[][..], &[0x30], &[0x30, 2, 7], &[0x30, 1, 7, 7], b"-----BEGIN", &long[1..]]
        {
            assert!(!is_sequence(other), "{other:?}");
        }
    }
}
