//! A directory that this process owns, and the private files in it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::file_lock::FileLock;

/// Locked for its lifetime: old and new owner never overlap.
pub(crate) struct OwnedDirectory {
    path: PathBuf,
    /// When the previous owner was known to be gone.
    pub(crate) since: Instant,
    _lock: FileLock,
}

impl OwnedDirectory {
    /// Takes ownership, and creates the directory if missing. If another process owns it, the error is
    /// [`WouldBlock`](io::ErrorKind::WouldBlock).
    pub(crate) fn lock(path: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => (),
        }
        let file =
            private_file(OpenOptions::new().create(true).truncate(false), &path.join("lock"))?;
        let lock = FileLock::try_new(file).map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::new(
                io::ErrorKind::WouldBlock,
                "another process owns the vault's directory",
            ),
            TryLockError::Error(error) => error,
        })?;
        Ok(Self { path: path.into(), since: Instant::now(), _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a file; `None` if it doesn't exist.
    pub(crate) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        not_missing(fs::read(self.path.join(name)))
    }

    /// Opens a file for reading; `None` if it doesn't exist.
    pub(crate) fn open(&self, name: &str) -> io::Result<Option<File>> {
        not_missing(File::open(self.path.join(name)))
    }

    /// Creates a file that must not exist yet.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        private_file(OpenOptions::new().create_new(true), &self.path.join(name))
    }

    /// Replaces a file atomically, and returns when the new one is durable.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = self.path.join(format!("{name}.new"));
        let mut file = private_file(OpenOptions::new().create(true).truncate(true), &new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(new, self.path.join(name))?;
        self.sync()
    }

    /// Renames a file.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    /// Removes a file, if it exists; durably only after [`sync`](Self::sync).
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        not_missing(fs::remove_file(self.path.join(name))).map(|_| ())
    }

    /// Makes removals and renames durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

fn private_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.write(true).mode(0o600).open(path)
}

fn not_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
