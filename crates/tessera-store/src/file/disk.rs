//! The file of a store: locked, private, replaced durably and as a whole.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use super::encoding::MAX_FILE;
use super::error::{FileStoreError, FileStoreProblem};

/// Locked for its lifetime.
pub(super) struct StoreFile {
    path: PathBuf,
    new: PathBuf,
    directory: PathBuf,
    /// Holds the lock. It is empty until the store's file exists: later, a store's file that is gone is noticed.
    lock: File,
}

/// Why a file was not replaced.
#[derive(Debug)]
pub(super) enum ReplaceError {
    /// It is as it was.
    Unchanged(io::Error),
    /// After a loss of power it may be the old or the new one.
    Unknown(io::Error),
}

impl StoreFile {
    /// Opens the file, which begins with `first`, and returns its content.
    pub(super) fn open(path: &Path, first: &[u8]) -> Result<(Self, Vec<u8>), FileStoreError> {
        let name = path.file_name().ok_or(FileStoreProblem::NotAFile);
        let name = name.map_err(|problem| FileStoreError::new(path, problem))?;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let is_private = fs::metadata(&directory).map_err(FileStoreProblem::Io);
        let is_private = is_private.and_then(|metadata| only_ours(&metadata));
        is_private.map_err(|problem| FileStoreError::new(&directory, problem))?;
        let with = |suffix: &str| {
            let mut name = name.to_owned();
            name.push(suffix);
            directory.join(name)
        };
        let lock = lock(&with(".lock"))?;
        let new = with(".new");
        let file = Self { path: directory.join(name), new, directory, lock };
        let content = file.content(first).map_err(|it| FileStoreError::new(&file.path, it))?;
        Ok((file, content))
    }

    fn content(&self, first: &[u8]) -> Result<Vec<u8>, FileStoreProblem> {
        let was_there = self.lock.metadata().map_err(FileStoreProblem::Io)?.len() > 0;
        let content = match fs::symlink_metadata(&self.path) {
            Ok(metadata) if !metadata.is_file() => return Err(FileStoreProblem::NotAFile),
            Ok(metadata) => {
                only_ours(&metadata)?;
                read(&self.path)?
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(FileStoreProblem::Io(error));
            }
            Err(_) if was_there => return Err(FileStoreProblem::Missing),
            Err(_) => {
                let written = self.replace(first);
                let (ReplaceError::Unchanged(error) | ReplaceError::Unknown(error)) = match written
                {
                    Ok(()) => return self.note_existence().map(|()| first.to_owned()),
                    Err(error) => error,
                };
                return Err(FileStoreProblem::Io(error));
            }
        };
        if !was_there {
            self.note_existence()?;
        }
        Ok(content)
    }

    fn note_existence(&self) -> Result<(), FileStoreProblem> {
        let noted = (&self.lock).write_all(b"locks the store of this name\n");
        noted.and_then(|()| self.lock.sync_all()).map_err(FileStoreProblem::Io)
    }

    /// Replaces the content, and returns when the new one is durable.
    pub(super) fn replace(&self, content: &[u8]) -> Result<(), ReplaceError> {
        let replaced = self.write_new(content).and_then(|()| fs::rename(&self.new, &self.path));
        replaced.map_err(|error| {
            // Half a file would take the room that the next one needs.
            let _ = fs::remove_file(&self.new);
            ReplaceError::Unchanged(error)
        })?;
        let directory = File::open(&self.directory);
        directory.and_then(|directory| directory.sync_all()).map_err(ReplaceError::Unknown)
    }

    fn write_new(&self, content: &[u8]) -> io::Result<()> {
        // What a crash left may have other permissions.
        match fs::remove_file(&self.new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => (),
        }
        let mut file = private(OpenOptions::new().create_new(true), &self.new)?;
        file.write_all(content)?;
        file.sync_all()
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        // A child process that another thread is starting has a copy of the descriptor, which would hold the lock.
        let _ = self.lock.unlock();
    }
}

fn lock(path: &Path) -> Result<File, FileStoreError> {
    let fail = |problem| FileStoreError::new(path, problem);
    // Without waiting: it could be a pipe.
    let is_there = fs::symlink_metadata(path);
    if is_there.as_ref().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(fail(FileStoreProblem::NotAFile));
    }
    let file = private(OpenOptions::new().create(true).truncate(false), path);
    let file = file.map_err(|error| FileStoreError::io(path, error))?;
    let metadata = file.metadata().map_err(|error| FileStoreError::io(path, error))?;
    only_ours(&metadata).map_err(fail)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => fail(FileStoreProblem::InUse),
        TryLockError::Error(error) => FileStoreError::io(path, error),
    })?;
    Ok(file)
}

/// No other user but root can change it.
fn only_ours(metadata: &Metadata) -> Result<(), FileStoreProblem> {
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    if owner != geteuid().as_raw() && owner != 0 {
        return Err(FileStoreProblem::OwnedByAnother { owner });
    }
    match mode & 0o022 {
        0 => Ok(()),
        _ => Err(FileStoreProblem::WritableByOthers { mode }),
    }
}

fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.write(true).mode(0o600).open(path)
}

fn read(path: &Path) -> Result<Vec<u8>, FileStoreProblem> {
    let mut content = Vec::new();
    let file = File::open(path).map_err(FileStoreProblem::Io)?;
    let longest = MAX_FILE as u64 + 1;
    file.take(longest).read_to_end(&mut content).map_err(FileStoreProblem::Io)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::DirBuilderExt;

    use super::*;

    #[test]
    fn the_lock_ends_with_the_store_whatever_copies_of_its_descriptor_are_open() {
        let directory = std::env::temp_dir().join(format!("tessera-disk-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&directory).unwrap();
        let path = directory.join("store");
        let (file, _) = StoreFile::open(&path, b"first").unwrap();
        let copy = file.lock.try_clone().unwrap();
        assert!(StoreFile::open(&path, b"first").is_err());
        drop(file);
        StoreFile::open(&path, b"first").unwrap();
        drop(copy);
        fs::remove_dir_all(&directory).unwrap();
    }
}
