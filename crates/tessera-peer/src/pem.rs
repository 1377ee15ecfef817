//! Certificates and keys in PEM files.

use std::fs;
use std::io;
use std::path::Path;

use pki_types::pem::{self, PemObject};
use pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use crate::error::PeerError;

/// The certificates of a file, in their order; at least one.
pub(crate) fn certificates(path: &Path, option: &str) -> Result<Vec<Vec<u8>>, PeerError> {
    let bytes = read(path, option)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes)
        .map(|certificate| certificate.map(|der| der.as_ref().to_vec()))
        .collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(PeerError::options(format!(
            "{}: no certificate in it; {option} takes PEM (-----BEGIN CERTIFICATE-----); DER becomes \
             PEM with: openssl x509 -inform der -in FILE",
            path.display()
        ))),
        Err(error) => Err(malformed(path, &error)),
    }
}

/// The private key of a file, as PKCS#8.
pub(crate) fn private_key(path: &Path, option: &str) -> Result<Zeroizing<Vec<u8>>, PeerError> {
    let bytes = read(path, option)?;
    let convert = |kind: &str| {
        PeerError::options(format!(
            "{0}: the key is in the old form {kind}; make it PKCS#8 with: \
             openssl pkcs8 -topk8 -nodes -in {0} -out NEW",
            path.display()
        ))
    };
    match PrivateKeyDer::from_pem_slice(&bytes) {
        Ok(PrivateKeyDer::Pkcs8(key)) => Ok(Zeroizing::new(key.secret_pkcs8_der().to_vec())),
        Ok(PrivateKeyDer::Sec1(_)) => Err(convert("SEC 1 (EC PRIVATE KEY)")),
        Ok(PrivateKeyDer::Pkcs1(_)) => Err(convert("PKCS#1 (RSA PRIVATE KEY)")),
        Ok(_) | Err(pem::Error::NoItemsFound) => {
            let encrypted = find(&bytes, b"ENCRYPTED PRIVATE KEY");
            Err(PeerError::options(if encrypted {
                format!(
                    "{0}: the key is encrypted; decrypt it with: openssl pkcs8 -in {0} -out NEW",
                    path.display()
                )
            } else {
                format!(
                    "{}: no private key in it; {option} takes PEM (-----BEGIN PRIVATE KEY-----)",
                    path.display()
                )
            }))
        }
        Err(error) => Err(malformed(path, &error)),
    }
}

fn read(path: &Path, option: &str) -> Result<Zeroizing<Vec<u8>>, PeerError> {
    let read = || {
        if fs::metadata(path)?.len() > MAX_LEN {
            return Err(io::Error::other("too long for a PEM file"));
        }
        fs::read(path)
    };
    read().map(Zeroizing::new).map_err(|error| PeerError::file(path, option, &error))
}

/// All roots of an operating system are a quarter of it.
const MAX_LEN: u64 = 1024 * 1024;

fn find(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

fn malformed(path: &Path, error: &pem::Error) -> PeerError {
    PeerError::options(format!("{}: malformed PEM: {error}", path.display()))
}
