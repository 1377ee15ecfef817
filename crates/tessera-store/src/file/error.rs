//! Why a store's file can't be opened, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a [`FileStore`](crate::FileStore) can't be opened.
#[derive(Debug)]
pub struct FileStoreError {
    path: PathBuf,
    problem: FileStoreProblem,
}

/// The problem with a store's file.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileStoreProblem {
    /// Another process has it open, or this one has already.
    InUse,
    /// It was truncated or changed.
    Damaged,
    /// It isn't a store's file.
    Foreign,
    /// It is in a format that this version doesn't read.
    OtherVersion {
        /// The version of the format.
        version: u8,
    },
    /// It is gone, though a store was once there.
    Missing,
    /// It is a directory, a link or a device.
    NotAFile,
    /// Another user owns it, or its directory, and can change it.
    OwnedByAnother {
        /// The owner's user id.
        owner: u32,
    },
    /// Other users can write to it, or into its directory.
    WritableByOthers {
        /// Its permissions.
        mode: u32,
    },
    /// A file system error.
    Io(io::Error),
}

impl FileStoreError {
    pub(super) fn new(path: &Path, problem: FileStoreProblem) -> Self {
        Self { path: path.into(), problem }
    }

    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        Self::new(path, FileStoreProblem::Io(error))
    }

    /// Returns the problem.
    pub fn problem(&self) -> &FileStoreProblem {
        &self.problem
    }

    /// Returns the file or the directory that has it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for FileStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for FileStoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            FileStoreProblem::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// How to go on when the content is lost.
const AFRESH: &str = "restore it from a copy, or remove it together with the file `.lock` of the same name to begin \
                      with an empty store";

impl fmt::Display for FileStoreProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => {
                f.write_str("another process uses this store; stop it, or use another file")
            }
            Self::Damaged => write!(f, "the store's file was truncated or changed; {AFRESH}"),
            Self::Foreign => f.write_str("this is not a store's file; use another path"),
            Self::OtherVersion { version } => write!(
                f,
                "written by another version of this program (format {version}); use the program that wrote it"
            ),
            Self::Missing => {
                write!(f, "the store's file is gone, though a store was here; {AFRESH}")
            }
            Self::NotAFile => f.write_str("not a regular file; use another path"),
            Self::OwnedByAnother { owner } => write!(
                f,
                "it belongs to another user (number {owner}), who could change the store; chown it, or use another path"
            ),
            Self::WritableByOthers { mode } => write!(
                f,
                "other users can write to it (mode {mode:04o}), and could change the store; chmod go-w it, or use \
                 another path"
            ),
            Self::Io(error) => match error.kind() {
                io::ErrorKind::NotFound => f.write_str("its directory does not exist; create it"),
                io::ErrorKind::PermissionDenied => f.write_str(
                    "permission denied; run as the user who owns it, or change its owner",
                ),
                _ => f.write_str(&with_advice(error)),
            },
        }
    }
}

/// Describes an error of writing, with what to do.
pub(super) fn with_advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the file system is full; free some space".into()
        }
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only; remount it".into(),
        _ => error.to_string(),
    }
}
