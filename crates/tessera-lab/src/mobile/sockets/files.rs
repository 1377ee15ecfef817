//! The certificates of an experiment as files, for programs.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use pem::Pem;

use crate::pki::{Identity, Pki};

/// A directory with them, which is removed when this value is dropped.
pub(super) struct Files(PathBuf);

impl Files {
    pub(super) fn new(pki: &Pki) -> io::Result<Self> {
        let name = format!("tessera-lab-dtls-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&directory)?;
        let files = Self(directory);
        let Identity { certificate, private_key, root } = &pki.server;
        fs::write(files.authority(), text("CERTIFICATE", root))?;
        fs::write(files.certificate(), text("CERTIFICATE", certificate))?;
        fs::write(files.key(), text("PRIVATE KEY", private_key))?;
        Ok(files)
    }

    pub(super) fn authority(&self) -> PathBuf {
        self.0.join("authority.pem")
    }

    pub(super) fn certificate(&self) -> PathBuf {
        self.0.join("certificate.pem")
    }

    pub(super) fn key(&self) -> PathBuf {
        self.0.join("key.pem")
    }
}

fn text(tag: &str, der: &[u8]) -> String {
    pem::encode(&Pem::new(tag, der))
}

impl Drop for Files {
    fn drop(&mut self) {
        // What can't be removed are temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
