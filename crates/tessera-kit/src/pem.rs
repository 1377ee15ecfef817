//! Certificates, keys and revocation lists in PEM files (RFC 7468).

use crate::error::ProgramError;
use crate::files::read;
use crate::setting::SettingFile;
use pki_types::pem::{self, PemObject};
use pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, SubjectPublicKeyInfoDer,
};
use tessera_aws_lc::{KemKey, KeyRejected, SigningKey};

/// Reads the certificates of a file, in order; at least one.
///
/// # Errors
/// Returns an error if the file can't be read, is not PEM, or has no certificate.
pub fn certificates(file: SettingFile<'_>) -> Result<Vec<Vec<u8>>, ProgramError> {
    all::<CertificateDer<'_>>(file, MAX_LEN, |setting| {
        format!(
            "no certificate in this file; {setting} takes PEM (-----BEGIN CERTIFICATE-----); convert DER with: \
             openssl x509 -inform der -in FILE"
        )
    })
}

/// The private key of a file.
pub enum AnyPrivateKey {
    /// It signs.
    Signing(SigningKey),
    /// It decapsulates (docs/kem-auth.md).
    Kem(KemKey),
}

/// Reads the private key of a file, which signs: PKCS#8 (`PRIVATE KEY`), SEC 1 (`EC PRIVATE KEY`) or PKCS#1
/// (`RSA PRIVATE KEY`), unencrypted.
///
/// # Errors
/// Returns an error if the file can't be read, is not PEM, or has no signing key.
pub fn private_key(file: SettingFile<'_>) -> Result<SigningKey, ProgramError> {
    match any_private_key(file)? {
        AnyPrivateKey::Signing(key) => Ok(key),
        AnyPrivateKey::Kem(_) => Err(does_not_sign(file)),
    }
}

/// Reads the private key of a file, which decapsulates: PKCS#8 with a key of ML-KEM (RFC 9935) or X25519 (RFC 8410),
/// unencrypted.
///
/// # Errors
/// Returns an error if the file can't be read, is not PEM, or has no key of a KEM.
pub fn kem_key(file: SettingFile<'_>) -> Result<KemKey, ProgramError> {
    match any_private_key(file)? {
        AnyPrivateKey::Kem(key) => Ok(key),
        AnyPrivateKey::Signing(_) => Err(ProgramError::in_file(
            file.path,
            format_args!(
                "this key signs, and {} takes one of a KEM: ML-KEM-512, ML-KEM-768, ML-KEM-1024 or X25519",
                file.setting
            ),
        )),
    }
}

/// Reports a key of a KEM where one that signs is needed.
pub(crate) fn does_not_sign(SettingFile { setting, path }: SettingFile<'_>) -> ProgramError {
    let what = "this is a key of a KEM (ML-KEM or X25519), which doesn't sign";
    ProgramError::in_file(path, format_args!("{what}; name one that signs after {setting}"))
}

/// Reads the private key of a file, of either sort, in the forms of [`private_key`] and [`kem_key`].
///
/// # Errors
/// Returns an error if the file can't be read, is not PEM, or has no such key.
pub fn any_private_key(file: SettingFile<'_>) -> Result<AnyPrivateKey, ProgramError> {
    let SettingFile { setting, path } = file;
    let bytes = read(file, MAX_LEN)?;
    let signing = AnyPrivateKey::Signing;
    let key = match PrivateKeyDer::from_pem_slice(&bytes) {
        Ok(PrivateKeyDer::Pkcs8(key)) => from_pkcs8(key.secret_pkcs8_der()),
        Ok(PrivateKeyDer::Sec1(key)) => SigningKey::from_sec1(key.secret_sec1_der()).map(signing),
        Ok(PrivateKeyDer::Pkcs1(key)) => {
            SigningKey::from_pkcs1(key.secret_pkcs1_der()).map(signing)
        }
        Ok(_) | Err(pem::Error::NoItemsFound) => {
            let what = if find(&bytes, b"ENCRYPTED PRIVATE KEY") {
                format!(
                    "the key is encrypted; decrypt it with: openssl pkcs8 -in {} -out NEW",
                    path.display()
                )
            } else if find(&bytes, b"-----BEGIN PUBLIC KEY-----") {
                format!(
                    "no private key in this file: it is the public half; name the private key after {setting}"
                )
            } else {
                format!(
                    "no private key in this file; {setting} takes PEM (-----BEGIN PRIVATE KEY-----)"
                )
            };
            return Err(ProgramError::in_file(path, what));
        }
        // OpenSSL's legacy encryption keeps the label, and adds headers (RFC 1421).
        Err(_) if find(&bytes, b"Proc-Type: 4,ENCRYPTED") => {
            let advice = "the key is encrypted; decrypt it with: openssl pkey -in";
            let what = format_args!("{advice} {} -out NEW", path.display());
            return Err(ProgramError::in_file(path, what));
        }
        Err(error) => return Err(malformed(file, &error)),
    };
    key.map_err(|error| ProgramError::in_file(path, error))
}

fn from_pkcs8(der: &[u8]) -> Result<AnyPrivateKey, KeyRejected> {
    SigningKey::from_pkcs8(der).map(AnyPrivateKey::Signing).or_else(|why| {
        KemKey::from_pkcs8(der).map(AnyPrivateKey::Kem).map_err(|of_kems| match of_kems {
            KeyRejected::Unsupported => why,
            KeyRejected::Malformed => of_kems,
        })
    })
}

/// Reads the public keys of a file (`PUBLIC KEY`), in order, at least one: each a SubjectPublicKeyInfo, DER,
/// for raw public keys (RFC 7250).
///
/// # Errors
/// Returns an error if the file can't be read, is not PEM, or has no public key.
pub fn public_keys(file: SettingFile<'_>) -> Result<Vec<Vec<u8>>, ProgramError> {
    let bytes = read(file, MAX_LEN)?;
    let none = if is_der(&bytes) && !is_certificate(&bytes) {
        // OpenSSL before 3.5 can't convert keys of ML-KEM; `base64` converts any.
        |setting: &str| {
            format!(
                "no PEM in this file; {setting} takes PEM (-----BEGIN PUBLIC KEY-----); convert a key from DER with: \
                 (echo -----BEGIN PUBLIC KEY-----; base64 < FILE; echo -----END PUBLIC KEY-----) > NEW"
            )
        }
    } else {
        |setting: &str| {
            format!(
                "no public key in this file; {setting} takes PEM (-----BEGIN PUBLIC KEY-----); extract a certificate's \
                 key with: openssl x509 -pubkey -noout -in FILE"
            )
        }
    };
    all_of::<SubjectPublicKeyInfoDer<'_>>(file, &bytes, none)
}

/// Reads the public key of a file, as [`public_keys`] does, which must be the only one: a file of several doesn't show which
/// to take.
///
/// # Errors
/// Returns an error if the file can't be read, is not PEM, or has no public key or several.
pub fn public_key(file: SettingFile<'_>) -> Result<Vec<u8>, ProgramError> {
    let mut keys = public_keys(file)?;
    match keys.len() {
        1 => Ok(keys.swap_remove(0)),
        count => {
            let what = format_args!(
                "{count} public keys in this file; leave the one for {}",
                file.setting
            );
            Err(ProgramError::in_file(file.path, what))
        }
    }
}

/// Reads the revocation lists of a file, in order, at least one: PEM (`X509 CRL`), or one in DER, as
/// authorities publish them (RFC 5280 §4.2.1.13).
///
/// # Errors
/// Returns an error if the file can't be read, is neither, or has no revocation list.
pub fn revocation_lists(file: SettingFile<'_>) -> Result<Vec<Vec<u8>>, ProgramError> {
    let mut bytes = read(file, MAX_LISTS_LEN)?;
    if is_der(&bytes) {
        return Ok(vec![std::mem::take(&mut *bytes)]);
    }
    all_of::<CertificateRevocationListDer<'_>>(file, &bytes, |setting| {
        format!(
            "no revocation list in this file; {setting} takes PEM (-----BEGIN X509 CRL-----) or DER"
        )
    })
}

/// Reads all items of one kind, as DER; `none` is the remedy if there are none.
fn all<T: PemObject + AsRef<[u8]>>(
    file: SettingFile<'_>,
    max_len: usize,
    none: fn(&str) -> String,
) -> Result<Vec<Vec<u8>>, ProgramError> {
    all_of::<T>(file, &read(file, max_len)?, none)
}

fn all_of<T: PemObject + AsRef<[u8]>>(
    file: SettingFile<'_>,
    bytes: &[u8],
    none: fn(&str) -> String,
) -> Result<Vec<Vec<u8>>, ProgramError> {
    let found: Result<Vec<_>, _> =
        T::pem_slice_iter(bytes).map(|item| item.map(|der| der.as_ref().to_vec())).collect();
    match found {
        Ok(found) if found.is_empty() => Err(ProgramError::in_file(file.path, none(file.setting))),
        found => found.map_err(|error| malformed(file, &error)),
    }
}

/// Four times the roots of an operating system.
const MAX_LEN: usize = 1024 * 1024;

/// Revocation lists of large authorities take tens of megabytes.
const MAX_LISTS_LEN: usize = 128 * 1024 * 1024;

/// A SEQUENCE; text that starts with this character (`0`) has PEM blocks further on.
fn is_der(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x30) && !find(bytes, b"-----BEGIN")
}

/// DER that starts with version 3, behind two SEQUENCEs (RFC 5280 §4.1), where a key has its algorithm.
fn is_certificate(der: &[u8]) -> bool {
    find(&der[..der.len().min(16)], &[0xa0, 3, 2, 1, 2])
}

fn find(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

fn malformed(file: SettingFile<'_>, error: &pem::Error) -> ProgramError {
    let what = match error {
        pem::Error::MissingSectionEnd { .. } => {
            "the last block has no -----END line; is the file half written?".to_owned()
        }
        pem::Error::Base64Decode(_) => {
            let setting = file.setting;
            format!("a block is not base64; copy the file again, or check the path after {setting}")
        }
        error => error.to_string(),
    };
    ProgramError::in_file(file.path, format_args!("malformed PEM: {what}"))
}
