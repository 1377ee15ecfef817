//! Ends that authenticate with keys of KEMs.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use tessera::auth::PeerIdentity;
use tessera::resume::KnownServerKey;
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::{SettingFile, credential, pem, trust};
use tessera_tokio::{Acceptor, Connector};
use tessera_webpki::kem_public_key_of_certificate;

/// Returns the acceptor of a server whose certificate has a key of ML-KEM or X25519. To clients
/// that know the key it shows no certificate.
pub fn acceptor(chain: &Path, key: &Path) -> Result<Acceptor, Box<dyn Error>> {
    let chain = SettingFile { setting: "chain", path: chain };
    let key = SettingFile { setting: "key", path: key };
    // `load` takes keys that sign alone. Add a second credential with one, for clients that know no KEMs.
    let credentials = vec![credential::load_any(chain, key)?];
    let config = ServerConfig::new(tessera_aws_lc::provider(), credentials);
    Ok(Acceptor::new(config.checked()?))
}

/// Returns the connector of a client that accepts such servers, too, from these authorities. For both ends to authenticate,
/// add a credential to `config.credentials`, and a verifier to the server's `client_authentication`.
pub fn connector(roots: &Path) -> Result<Connector, Box<dyn Error>> {
    let verifier = trust::roots(SettingFile { setting: "roots", path: roots })?
        .accepting_kems(&[SignatureScheme::KEM_MLKEM768, SignatureScheme::KEM_X25519])?;
    let config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
    Ok(Connector::new(config.checked()?))
}

/// Returns the key of a server's certificate, for `Destination::known_server_key`. It is trusted as it is: dates, names and
/// revocation of the certificate don't count.
pub fn known_key(certificate: &Path, server: &str) -> Result<KnownServerKey, Box<dyn Error>> {
    let chain = pem::certificates(SettingFile { setting: "certificate", path: certificate })?;
    let public_key = chain.first().and_then(|first| kem_public_key_of_certificate(first));
    let public_key = public_key.ok_or("the certificate has no key of a KEM")?;
    let identity = PeerIdentity { blob: server.as_bytes().to_vec(), expires_at: None };
    Ok(KnownServerKey { public_key, identity })
}
