//! A second place that records how a vault's directory was left, to detect rolled-back copies.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::file_lock::FileLock;

/// Random, and changed each time a directory is opened or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(pub [u8; 16]);

/// Remembers one [`Mark`] for each vault, in a place that is not rolled back or copied together with the
/// vault's directory: another machine, another disk, or at least another file system.
///
/// A directory whose own mark differs was rolled back, restored or copied. A witness that has forgotten a
/// directory is treated the same: it must live as long as the directories.
pub trait Witness: Send + Sync {
    /// Replaces the mark of a vault by `new`, durably and atomically, if it is `expected`; `None` means no
    /// mark. It may block.
    ///
    /// # Errors
    /// Returns an error if the mark can't be replaced, or if the outcome is unknown.
    fn replace(
        &self,
        vault: &[u8; 16],
        expected: Option<&Mark>,
        new: &Mark,
    ) -> io::Result<WitnessOutcome>;
}

/// What a [`Witness`] found.
pub enum WitnessOutcome {
    /// The mark was replaced.
    Replaced {
        /// No other process can replace it until this is dropped or the process ends. `None` if the witness
        /// can't detect whether the owner lives. Then a directory that was not closed gets a new identity,
        /// because it may be the copy of one in use.
        hold: Option<Box<dyn Send + Sync>>,
    },
    /// There is another mark, or none, or the vault's owner lives.
    Differs,
}

/// Keeps marks in the files of a directory, to detect copies and rollbacks of a vault's directory on this
/// machine. A rollback of the whole machine rolls this back as well.
pub struct FileWitness {
    dir: PathBuf,
}

impl FileWitness {
    /// Makes a witness in `dir`, and creates that if missing: on a local file system, as durable as the
    /// vault's directory, and not in the same backup.
    ///
    /// # Errors
    /// Returns an error if the directory can't be created.
    pub fn new(dir: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(Self { dir: dir.into() }),
        }
    }
}

impl Witness for FileWitness {
    fn replace(
        &self,
        vault: &[u8; 16],
        expected: Option<&Mark>,
        new: &Mark,
    ) -> io::Result<WitnessOutcome> {
        let name: String = vault.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = self.dir.join(name);
        let failed =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        self.replace_in(&path, expected, new).map_err(failed)
    }
}

impl FileWitness {
    fn replace_in(
        &self,
        path: &Path,
        expected: Option<&Mark>,
        new: &Mark,
    ) -> io::Result<WitnessOutcome> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = match FileLock::try_new(options.open(path)?) {
            Ok(file) => file,
            Err(TryLockError::WouldBlock) => return Ok(WitnessOutcome::Differs),
            Err(TryLockError::Error(error)) => return Err(error),
        };
        let mut found = Vec::new();
        file.read_to_end(&mut found)?;
        if found != expected.map_or(&[][..], |mark| &mark.0) {
            return Ok(WitnessOutcome::Differs);
        }
        // A half-written mark matches no directory's: that is the safe side.
        file.rewind()?;
        file.write_all(&new.0)?;
        file.sync_all()?;
        File::open(&self.dir)?.sync_all()?;
        Ok(WitnessOutcome::Replaced { hold: Some(Box::new(file)) })
    }
}
