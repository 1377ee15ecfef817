//! The certificates of both ends, in files.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::Error;

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "server.example";

/// A directory with certificates of both ends; gone when this value is.
pub struct Pki {
    directory: PathBuf,
}

impl Pki {
    /// Makes them.
    pub fn new() -> Result<Self, Error> {
        let mut name = [0; 8];
        tessera_aws_lc::provider().random.fill(&mut name).map_err(|error| error.to_string())?;
        let name = format!("tessera-memory-{}", tessera_kit::hex::encode(&name));
        let pki = Self { directory: std::env::temp_dir().join(name) };
        fs::create_dir(&pki.directory)?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let root = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        fs::write(pki.path("root.pem"), root.pem())?;
        let uses = [
            ("server", SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth),
            ("client", "client.example", ExtendedKeyUsagePurpose::ClientAuth),
        ];
        for (file, name, usage) in uses {
            let mut params = CertificateParams::new(vec![name.to_owned()])?;
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &root)?;
            fs::write(pki.path(&format!("{file}.pem")), certificate.pem())?;
            fs::write(pki.path(&format!("{file}.key")), key.serialize_pem())?;
        }
        Ok(pki)
    }

    /// The path of a file.
    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// The directory of the files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Pki {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
