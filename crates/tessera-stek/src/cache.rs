//! The file in which a sidecar keeps its ring.

use std::io;
use std::path::{Path, PathBuf};

use tessera_kit::files;
use tessera_ring::RingCache;

use crate::servers::key_file;

/// A file for each server, sealed by the ring.
pub(crate) struct CacheFile(PathBuf);

/// The longest cache: some keys, and the fingerprints of earlier ones.
const LONGEST: usize = 1024 * 1024;

impl CacheFile {
    /// The file of one server: the configured one, with the server's name.
    pub(crate) fn of(path: &Path, server: &str) -> Self {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{server}"));
        Self(path.with_file_name(name))
    }
}

impl RingCache for CacheFile {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        match files::read_path(&self.0, LONGEST) {
            Ok(sealed) => Ok(Some(sealed.to_vec())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn save(&self, sealed: &[u8]) -> io::Result<()> {
        key_file::replace(&self.0, sealed)
    }
}
