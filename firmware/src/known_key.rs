//! Ends of which the client knows the server's key of ML-KEM-768, and encapsulates to it in its ClientHello (docs/kem-auth.md
//! §9). With `kem-raw-key` it also accepts a server that sends this key (RFC 7250).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;

use tessera::auth::{Credential, PeerIdentity, PeerPublicKey, PrivateKey};
use tessera::resume::KnownServerKey;
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, Error, ServerConfig};
use tessera_rustcrypto::KemKey;

use crate::settings::{SERVER_NAME, client_with, server_with};

/// A SubjectPublicKeyInfo.
const PUBLIC_KEY: &[u8] = include_bytes!("../pki/suites/ml-kem-768.pub.der");

/// How long the key in it is, in bytes (FIPS 203, table 3).
const KEY_LEN: usize = 1184;

/// PKCS#8, the server's.
const KEY: &[u8] = include_bytes!("../pki/suites/ml-kem-768.key.der");

#[cfg(not(feature = "kem-raw-key"))]
pub fn client() -> ClientConfig {
    client_with(Arc::new(tessera::auth::NoCertificates))
}

#[cfg(feature = "kem-raw-key")]
pub fn client() -> ClientConfig {
    use tessera_fixed_pki::{PinnedKey, PinnedKeyVerifier};

    let key = PinnedKey { public_key: PUBLIC_KEY, name: SERVER_NAME };
    let verifier = PinnedKeyVerifier::new(vec![key], &[]).expect("the key is good");
    client_with(Arc::new(verifier))
}

/// Returns what the client knows of the server.
pub(crate) fn known() -> Box<KnownServerKey> {
    // The key ends the structure (RFC 9935 §4).
    let key = PUBLIC_KEY[PUBLIC_KEY.len() - KEY_LEN..].to_vec();
    Box::new(KnownServerKey {
        public_key: PeerPublicKey::new(SignatureScheme::KEM_MLKEM768, key),
        identity: PeerIdentity { blob: SERVER_NAME.into(), expires_at: None },
    })
}

pub fn server() -> Result<ServerConfig, Error> {
    // The seed comes last (RFC 9935 §6).
    let seed = KEY.last_chunk().ok_or(Error::Configuration("the server's key can't be read"))?;
    let key = PrivateKey::Decapsulates(Arc::new(KemKey::<3>::from_seed(seed)));
    let credential = Credential::raw_public_key(PUBLIC_KEY.to_vec(), key);
    Ok(server_with(vec![credential]))
}
