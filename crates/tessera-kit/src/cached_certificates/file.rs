//! A file private to its owner, and replaced atomically.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use tessera_vault::FileLock;

use crate::error::ProgramError;
use crate::setting::SettingFile;

/// A file in a directory that a setting names.
pub(super) struct PrivateFile {
    setting: String,
    directory: PathBuf,
    path: PathBuf,
    /// Maximum length in bytes; a longer file is unreadable.
    longest: u64,
    /// One replacement at a time, because all use one temporary name.
    replaced: Mutex<()>,
}

impl PrivateFile {
    /// Makes a file in a directory below the one that is set, for a cache limited to `bytes`. Creates both
    /// directories if missing.
    pub(super) fn in_directory(
        set: SettingFile<'_>,
        below: &Path,
        name: &str,
        bytes: usize,
    ) -> Result<Self, ProgramError> {
        // Joining an empty path would append a slash.
        let directory = set.path.components().chain(below.components()).collect::<PathBuf>();
        let path = directory.join(name);
        let (setting, replaced) = (set.setting.to_owned(), Mutex::default());
        // An entry is written in less than twice the size it is counted for.
        let longest = LONGEST.max((bytes as u64).saturating_mul(2));
        let file = Self { setting, directory, path, longest, replaced };
        // A directory writable by others is refused unchanged.
        for directory in [set.path, &file.directory] {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
            made.map_err(|error| ProgramError::output(set, &error))?;
            let metadata = fs::metadata(directory).map_err(|error| file.failed(&error))?;
            file.check_owner(directory, &metadata, 0o022)?;
        }
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the lock of the directory.
    pub(super) fn lock(&self) -> Result<FileLock, ProgramError> {
        FileLock::wait(self.lock_file()?).map_err(|error| self.failed(&error))
    }

    /// Takes the lock without waiting, or returns an error if another process holds it.
    pub(super) fn own(&self) -> Result<FileLock, ProgramError> {
        match FileLock::try_new(self.lock_file()?) {
            Ok(lock) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(ProgramError::in_file(
                &self.directory,
                format_args!(
                    "another server keeps its certificates there; name another directory with {}",
                    self.setting
                ),
            )),
            Err(TryLockError::Error(error)) => Err(self.failed(&error)),
        }
    }

    /// Opens a file that only its owner can open. Locking the directory would allow any user who can read it
    /// to lock it too.
    fn lock_file(&self) -> Result<File, ProgramError> {
        let path = self.path.with_extension("lock");
        let mut options = OpenOptions::new();
        // Opening a pipe would wait for its reader, and a link could lead anywhere.
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW;
        let opened =
            options.write(true).create(true).mode(0o600).custom_flags(flags.bits()).open(&path);
        let is_no_file = |error: &io::Error| {
            let number = error.raw_os_error().map(Errno::from_raw);
            matches!(number, Some(Errno::ENXIO | Errno::ELOOP))
        };
        let lock = match opened {
            Err(error) if is_no_file(&error) => return Err(self.no_file(&path)),
            opened => opened.map_err(|error| self.failed(&error))?,
        };
        let metadata = lock.metadata().map_err(|error| self.failed(&error))?;
        if metadata.is_file() { Ok(lock) } else { Err(self.no_file(&path)) }
    }

    /// Returns its content; `None` if there is no such file.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, ProgramError> {
        // Opening a pipe would wait for its writer.
        let opened =
            OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&self.path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| self.failed(&error))?,
        };
        let metadata = file.metadata().map_err(|error| self.failed(&error))?;
        if !metadata.is_file() {
            return Err(self.no_file(&self.path));
        }
        self.check_owner(&self.path, &metadata, 0o077)?;
        let mut bytes = Vec::new();
        let read = file.take(self.longest).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(&error))?;
        Ok(Some(bytes))
    }

    /// Refuses a directory in which the file can't be replaced, before that is needed.
    pub(super) fn check_replaceable(&self) -> Result<(), ProgramError> {
        let new = self.path.with_extension("new");
        let made = created(&new).and_then(|_| fs::remove_file(&new));
        made.map_err(|error| self.not_written(&new, &error))
    }

    /// Replaces the file with the output of `write`, and returns when that is durable. Of several threads,
    /// the last to call `write` wins.
    pub(super) fn replace(&self, write: impl FnOnce() -> Vec<u8>) -> Result<(), ProgramError> {
        let _alone = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = write();
        let new = self.path.with_extension("new");
        let write_new = || {
            let mut file = created(&new)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        let written = write_new().inspect_err(|_| {
            // A partial file would take up scarce space.
            let _ = fs::remove_file(&new);
        });
        written.map_err(|error| self.not_written(&new, &error))?;
        let replace = || {
            fs::rename(&new, &self.path)?;
            File::open(&self.directory)?.sync_all()
        };
        replace().map_err(|error| self.failed(&error))
    }

    /// Refuses a file or directory of another user, or with one of these permissions for others.
    fn check_owner(
        &self,
        path: &Path,
        metadata: &Metadata,
        closed: u32,
    ) -> Result<(), ProgramError> {
        let (owner, user) = (metadata.uid(), geteuid().as_raw());
        let mode = metadata.permissions().mode() & 0o7777;
        if owner != user {
            return Err(ProgramError::in_file(
                path,
                format_args!(
                    "it belongs to user {owner}, and this program runs as user {user}: certificates must be kept \
                     where no one else can write; run it as that user, or name another directory with {}",
                    self.setting
                ),
            ));
        }
        if mode & closed != 0 {
            let what = if metadata.is_dir() { "go-w" } else { "go=" };
            return Err(ProgramError::in_file(
                path,
                format_args!(
                    "others have access to it (mode {mode:04o}), but cached certificates are for their owner alone; \
                     chmod {what} {}",
                    path.display()
                ),
            ));
        }
        Ok(())
    }

    fn no_file(&self, path: &Path) -> ProgramError {
        ProgramError::in_file(
            path,
            format_args!(
                "this is not a file; remove it, or name another directory with {}",
                self.setting
            ),
        )
    }

    fn not_written(&self, new: &Path, error: &io::Error) -> ProgramError {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let advice = match error.kind() {
            FileTooLarge | QuotaExceeded | StorageFull => "free some space there",
            io::ErrorKind::IsADirectory => "remove this directory",
            _ => {
                return ProgramError::output(
                    SettingFile { setting: &self.setting, path: new },
                    error,
                );
            }
        };
        ProgramError::in_file(
            new,
            format_args!("{error}; {advice}, or name another directory with {}", self.setting),
        )
    }

    fn failed(&self, error: &io::Error) -> ProgramError {
        ProgramError::output(SettingFile { setting: &self.setting, path: &self.path }, error)
    }
}

/// Creates a new file that no other process has open, in place of an old one.
fn created(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// More than any cache with the default limits.
const LONGEST: u64 = 256 << 20;
