//! Static keys of servers that clients know (docs/kem-auth.md, section 9).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tessera::auth::{Credential, PeerIdentity, PeerPublicKey, PrivateKey};
use tessera::resume::KnownServerKey;
use tessera_kit::{ProgramError, SettingFile, pem};
use tessera_webpki::{kem_public_key, kem_public_key_of_certificate};

/// Loads a server's keys, as raw public keys.
pub(crate) fn of_server(files: &[PathBuf]) -> Result<Vec<Credential>, ProgramError> {
    let load = |path: &PathBuf| {
        let key = pem::kem_key(setting(path))?;
        let public_key = key.public_key_info().to_vec();
        Ok(Credential::raw_public_key(public_key, PrivateKey::Decapsulates(Arc::new(key))))
    };
    files.iter().map(load).collect()
}

/// Loads the key of a client's server: a public key, or the server's certificate.
pub(crate) fn of_client(
    files: &[PathBuf],
    server_name: &str,
) -> Result<Option<Box<KnownServerKey>>, ProgramError> {
    let [path] = files else { return Ok(None) };
    let identity = PeerIdentity { blob: server_name.as_bytes().to_vec(), expires_at: None };
    Ok(Some(Box::new(KnownServerKey { public_key: public_key(path)?, identity })))
}

fn public_key(path: &Path) -> Result<PeerPublicKey, ProgramError> {
    let file = setting(path);
    let key = match pem::public_key(file) {
        Ok(key) => kem_public_key(&key),
        // The error about a file with neither is the one that names public keys.
        Err(error) => match pem::certificates(file) {
            Ok(chain) => chain.first().and_then(|first| kem_public_key_of_certificate(first)),
            Err(_) if pem::any_private_key(file).is_ok() => {
                let what = "this is a private key, which only the server has: name its public half, or the server's \
                            certificate, after --known-key";
                return Err(ProgramError::in_file(path, what));
            }
            Err(_) => return Err(error),
        },
    };
    key.ok_or_else(|| {
        let what = "the key is none of a KEM (ML-KEM-512, ML-KEM-768, ML-KEM-1024 or X25519)";
        ProgramError::in_file(path, format_args!("{what}; check the path after {}", file.setting))
    })
}

fn setting(path: &Path) -> SettingFile<'_> {
    SettingFile { setting: "--known-key", path }
}
