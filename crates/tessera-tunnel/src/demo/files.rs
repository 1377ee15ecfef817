//! The files of a demonstration: certificates made for it, and a state, gone with it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use tessera_kit::{ProgramError, hex};

/// A directory of its own, which only this user may look into.
pub(super) struct Files(PathBuf);

/// The name in the server's certificate.
pub(super) const SERVER: &str = "db.example";
/// The name in the client's.
pub(super) const CLIENT: &str = "app.example";

impl Files {
    /// Makes the directory, an authority `ca.pem`, two certificates with their keys, `server.pem` and
    /// `client.pem`, and the key of a state, `state.key`.
    pub(super) fn make() -> Result<Self, ProgramError> {
        let files = Self(directory()?);
        files.certificates()?;
        files.key()?;
        Ok(files)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn certificates(&self) -> Result<(), ProgramError> {
        let failed = |error: rcgen::Error| ProgramError::failed("a certificate for this", error);
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Tessera demonstration");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().map_err(failed)?;
        let authority = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
        self.write("ca.pem", &authority.pem())?;
        for (file, name, usage) in [
            ("server.pem", SERVER, ExtendedKeyUsagePurpose::ServerAuth),
            ("client.pem", CLIENT, ExtendedKeyUsagePurpose::ClientAuth),
        ] {
            let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(failed)?;
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate().map_err(failed)?;
            let certificate = params.signed_by(&key, &authority).map_err(failed)?;
            self.write(file, &(certificate.pem() + &key.serialize_pem()))?;
        }
        Ok(())
    }

    fn key(&self) -> Result<(), ProgramError> {
        let path = Path::new("/dev/urandom");
        let mut key = [0; 32];
        let read = File::open(path).and_then(|mut source| source.read_exact(&mut key));
        read.map_err(|error| ProgramError::failed(path.display(), error))?;
        self.write("state.key", &hex::encode(&key))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), ProgramError> {
        let path = self.path(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| cannot(&path, &error))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Another program may have a directory of this name.
fn directory() -> Result<PathBuf, ProgramError> {
    let parent = std::env::temp_dir();
    let mut number = 0;
    loop {
        let path = parent.join(format!("tessera-demo-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {
                number += 1
            }
            Err(error) => return Err(cannot(&path, &error)),
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> ProgramError {
    ProgramError::failed(path.display(), format_args!("{error}; $TMPDIR names another directory"))
}
