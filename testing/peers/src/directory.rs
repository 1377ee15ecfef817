//! Directories for the files of one test or one peer.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use crate::confinement::user;

/// A directory that peers may write to, removed when it is dropped.
pub struct Directory(PathBuf);

impl Directory {
    /// Makes a directory.
    pub fn new() -> Self {
        Self::new_in(&std::env::temp_dir()).expect("a temporary directory can be made")
    }

    /// Makes a directory elsewhere.
    ///
    /// # Errors
    /// If it can't be made.
    pub fn new_in(parent: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::path::absolute(parent)?
            .join(format!("tessera-test-{}-{number}", std::process::id()));
        fs::create_dir_all(&path)?;
        let directory = Self(path);
        fs::set_permissions(&directory.0, fs::Permissions::from_mode(0o700))?;
        if let Some(user) = user() {
            chown(&directory.0, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
        }
        Ok(directory)
    }

    /// Its own path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file in it, as programs take it in their arguments.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("temporary paths are UTF-8").to_owned()
    }

    /// Writes a file; returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).expect("a temporary file can be written");
        path
    }

    /// Writes a file that only peers, and root, may read; returns its path.
    pub fn write_private(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.write(name, content);
        let changed = fs::set_permissions(&path, fs::Permissions::from_mode(0o600));
        changed.expect("its owner may");
        if let Some(user) = user() {
            let changed = chown(&path, Some(user.uid.as_raw()), Some(user.gid.as_raw()));
            changed.expect("root may");
        }
        path
    }
}

impl Default for Directory {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory that can't be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}
