//! The certificates of both ends, in files.

use std::fs;
use std::path::{Path, PathBuf};

use tessera::wire::SignatureScheme;
use tessera_pki::Authority;

use crate::Error;

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "server.example";

/// A directory with certificates of both ends, removed when this value is dropped.
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
        let root = Authority::new("root");
        fs::write(pki.path("root.pem"), root.pem())?;
        for (file, name) in [("server", SERVER_NAME), ("client", "client.example")] {
            let leaf = root.issue(name);
            fs::write(pki.path(&format!("{file}.pem")), &leaf.pem)?;
            fs::write(pki.path(&format!("{file}.key")), leaf.key_pem())?;
            let leaf = root.issue_kem(SignatureScheme::KEM_MLKEM768, &[name], |_| ());
            fs::write(pki.path(&format!("{file}-kem.pem")), leaf.chain_pem())?;
            fs::write(pki.path(&format!("{file}-kem.key")), leaf.key_pem())?;
        }
        Ok(pki)
    }

    /// Returns the path of a file.
    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// Returns the directory of the files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Pki {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
