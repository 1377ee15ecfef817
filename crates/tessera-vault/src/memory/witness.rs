//! A second place that knows how a vault's directory was left: what a rolled-back copy can't know.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Random, and another each time that a directory is opened or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(pub [u8; 16]);

/// Remembers one [`Mark`] for each vault, in a place that is not rolled back or copied together with the
/// vault's directory: another machine, another disk, or at least another file system.
///
/// A directory whose own mark is another one was rolled back, restored or copied. So was one that is used
/// with a witness that has forgotten it: a witness has to live as long as the directories do.
pub trait Witness: Send + Sync {
    /// Replaces the mark of a vault by `new`, durably and in one atomic step, if it is `expected`; `None` is no
    /// mark at all. It may wait.
    ///
    /// # Errors
    /// If it can't be said whether it was replaced, or can't be done.
    fn replace(
        &self,
        vault: &[u8; 16],
        expected: Option<&Mark>,
        new: &Mark,
    ) -> io::Result<Witnessed>;
}

/// What a [`Witness`] found.
pub enum Witnessed {
    /// The mark was replaced.
    Replaced {
        /// Until this is dropped, or the process ends, nobody else can replace it. `None` if the witness can't
        /// tell whether the owner lives. Then a directory that was not closed gets a new identity, because it
        /// may be the copy of one that is in use.
        hold: Option<Box<dyn Send + Sync>>,
    },
    /// There is another mark, or none, or the owner of the vault lives.
    Differs,
}

/// Marks in files of a directory, for copies and rollbacks of a vault's directory on this machine. What rolls
/// back the whole machine rolls this back as well.
pub struct FileWitness {
    dir: PathBuf,
}

impl FileWitness {
    /// A witness in `dir`, which is made if it is not there: on a local file system that survives what the
    /// vault's directory survives, and not in the same backup.
    ///
    /// # Errors
    /// If the directory can't be made.
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
    ) -> io::Result<Witnessed> {
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
    ) -> io::Result<Witnessed> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(Witnessed::Differs),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => (),
        }
        let mut found = Vec::new();
        file.read_to_end(&mut found)?;
        if found != expected.map_or(&[][..], |mark| &mark.0) {
            return Ok(Witnessed::Differs);
        }
        // A mark that is half written is no mark of anybody's: that is the safe side.
        file.rewind()?;
        file.write_all(&new.0)?;
        file.sync_all()?;
        File::open(&self.dir)?.sync_all()?;
        Ok(Witnessed::Replaced { hold: Some(Box::new(file)) })
    }
}
