//! This side's certificate: from files, or made by this program.

#[cfg(feature = "self-signed")]
mod self_signed;

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str;

use tessera::Role;
use tessera::auth::{Credential, PrivateKey};
use tessera::wire::CertificateType;
use tessera_kit::{ProgramError, SettingFile, credential, files};

#[cfg(feature = "self-signed")]
use self::self_signed::generate;
use crate::options::{CertificateFiles, Common};

/// Loads this side's certificate and key, if the options name them, and checks that they belong together. A key of a KEM
/// needs --kem-auth, and a server with --kem-auth needs such a key; a client may also sign.
pub(crate) fn load(common: &Common, role: Role) -> Result<Option<Credential>, ProgramError> {
    let Some(CertificateFiles { certificate, key }) = &common.certificates else { return Ok(None) };
    let key = key.as_deref().unwrap_or(certificate);
    let certificate = SettingFile { setting: "--certificate", path: certificate };
    let credential =
        credential::load_any(certificate, SettingFile { setting: "--key", path: key })?;
    let wrong = match (&credential.key, common.kem_auth) {
        (PrivateKey::Decapsulates(_), false) => {
            "this is a key of a KEM, which doesn't sign: add --kem-auth, or name a key that signs after --key"
        }
        (PrivateKey::Signs(_), true) if role == Role::Server => {
            "this key signs, and --kem-auth needs one of a KEM (ML-KEM or X25519): leave out --kem-auth, or name \
             another after --key (`tessera certificate issue` makes one, with its certificate)"
        }
        _ => return Ok(Some(credential)),
    };
    Err(ProgramError::in_file(key, wrong))
}

/// Returns the certificate that a server shows, if it has one: its other credentials are raw public keys.
pub(crate) fn of(credentials: &[Credential]) -> Option<&Vec<u8>> {
    let own = credentials.iter().find(|own| own.certificate_type == CertificateType::X509);
    own.and_then(|own| own.chain.first())
}

/// A certificate made by this program.
pub(crate) struct GeneratedCertificate {
    pub(crate) credential: Credential,
    pub(crate) pem: String,
    /// Whether it survives restarts.
    pub(crate) is_kept: bool,
}

/// Makes a self-signed certificate for these names, which doesn't expire. With a state directory it is made once, so
/// that clients that trust it accept the next server too.
pub(crate) fn make(
    names: &[String],
    listen: IpAddr,
    state: Option<&Path>,
) -> Result<GeneratedCertificate, ProgramError> {
    let names = match names {
        [] => {
            let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
            if !listen.is_unspecified() && !listen.is_loopback() {
                names.push(listen.to_string());
            }
            names
        }
        names => names.to_vec(),
    };
    let Some(directory) = state else { return Ok(generate(names)?.0) };
    let path = directory.join(KEPT);
    let title = format!("names {}", names.join(" "));
    if let Some(kept) = kept(&path, &title)? {
        return Ok(kept);
    }
    let (made, key) = generate(names)?;
    keep(&path, &[&title, "\n", &made.pem, &key])?;
    Ok(GeneratedCertificate { is_kept: true, ..made })
}

/// The file in the state directory; it holds the private key too.
const KEPT: &str = "certificate.pem";

/// Loads the certificate of an earlier server, if it is for these names.
fn kept(path: &Path, title: &str) -> Result<Option<GeneratedCertificate>, ProgramError> {
    let text = match files::read_path(path, MAX_LEN) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| unusable(path, &error))?,
    };
    let text = str::from_utf8(&text).map_err(|error| unusable(path, &error))?;
    let (found, rest) = text.split_once('\n').unwrap_or_default();
    if found.starts_with("names ") && found != title {
        return Ok(None);
    }
    let file = SettingFile { setting: "--state", path };
    let credential = credential::load(file, file).map_err(|error| match error {
        ProgramError::File { what, .. } => unusable(path, &what),
        other => other,
    })?;
    let pem = rest.split_inclusive(END).next().unwrap_or_default();
    Ok(Some(GeneratedCertificate { credential, pem: format!("{pem}\n"), is_kept: true }))
}

fn keep(path: &Path, parts: &[&str]) -> Result<(), ProgramError> {
    let new = path.with_extension("pem.new");
    let write = || {
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => (),
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        parts.iter().try_for_each(|part| file.write_all(part.as_bytes()))?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| ProgramError::output(SettingFile { setting: "--state", path }, &error))
}

fn unusable(path: &Path, why: &dyn Display) -> ProgramError {
    let what = "remove this file, and the server makes another certificate, which clients must trust again";
    ProgramError::in_file(path, format_args!("{why}; {what}"))
}

/// Ends the certificate; the key follows.
const END: &str = "-----END CERTIFICATE-----";

/// Larger than a certificate with as many names as fit on a command line.
const MAX_LEN: usize = 4 * 1024 * 1024;

#[cfg(not(feature = "self-signed"))]
fn generate(
    _: Vec<String>,
) -> Result<(GeneratedCertificate, zeroize::Zeroizing<String>), ProgramError> {
    Err(ProgramError::settings(
        "--certificate is missing: set it to the server's certificate, and --key to its private key. This build makes \
         none, for lack of the feature `demo`",
    ))
}

impl GeneratedCertificate {
    /// Writes the certificate, for clients to trust.
    pub(crate) fn write(&self, path: &Path) -> Result<(), ProgramError> {
        let written = fs::write(path, &self.pem);
        let file = SettingFile { setting: "--write-certificate", path };
        written.map_err(|error| ProgramError::output(file, &error))
    }
}
