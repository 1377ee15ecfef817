//! The files of a demonstration: certificates made for it, and a state, gone with it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use tessera_kit::{ProgramError, hex};
use tessera_proxy::demo;

/// A directory of its own, which only this user may look into.
pub(super) struct Files(demo::Files);

/// The name in the server's certificate.
pub(super) const SERVER: &str = "db.example";
/// The name in the client's.
pub(super) const CLIENT: &str = "app.example";

impl Files {
    /// Makes the directory, an authority `ca.pem`, two certificates with their keys, `server.pem` and
    /// `client.pem`, and the key of a state, `state.key`.
    pub(super) fn make() -> Result<Self, ProgramError> {
        let files = Self(demo::Files::make()?);
        files.certificates()?;
        files.key()?;
        Ok(files)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn certificates(&self) -> Result<(), ProgramError> {
        let failed = |error: rcgen::Error| ProgramError::failed("a certificate for this", error);
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "Tessera demonstration");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().map_err(failed)?;
        let authority = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
        self.0.write("ca.pem", &authority.pem())?;
        for (file, name, usage) in [
            ("server.pem", SERVER, ExtendedKeyUsagePurpose::ServerAuth),
            ("client.pem", CLIENT, ExtendedKeyUsagePurpose::ClientAuth),
        ] {
            let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(failed)?;
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate().map_err(failed)?;
            let certificate = params.signed_by(&key, &authority).map_err(failed)?;
            self.0.write(file, &(certificate.pem() + &key.serialize_pem()))?;
        }
        Ok(())
    }

    fn key(&self) -> Result<(), ProgramError> {
        let path = Path::new("/dev/urandom");
        let mut key = [0; 32];
        let read = File::open(path).and_then(|mut source| source.read_exact(&mut key));
        read.map_err(|error| ProgramError::failed(path.display(), error))?;
        self.0.write("state.key", &hex::encode(&key))
    }
}
