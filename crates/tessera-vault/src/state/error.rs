//! Problems of a state directory, and their remedies.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::keys::RingError;

/// Why a state can't be opened or written.
#[derive(Debug)]
pub struct StateError {
    directory: PathBuf,
    /// Empty for the directory itself.
    file: &'static str,
    problem: StateProblem,
}

/// The problem with a state.
#[derive(Debug)]
#[non_exhaustive]
pub enum StateProblem {
    /// Another process owns the directory.
    InUse,
    /// It is sealed under another key, or its first bytes are damaged.
    WrongKey,
    /// It was truncated, changed, or copied from elsewhere.
    Damaged,
    /// A file is missing while others are present.
    Missing,
    /// It is in a format that this version no longer reads.
    Older {
        /// The version of the format.
        version: u8,
    },
    /// It was written by a newer version.
    Newer {
        /// The version of the format.
        version: u8,
    },
    /// Another user owns the directory, and can put files into it.
    OwnedByAnother {
        /// The owner's user id.
        owner: u32,
    },
    /// Other users can put files into the directory.
    WritableByOthers {
        /// Its permissions.
        mode: u32,
    },
    /// The directory holds foreign files.
    HoldsOtherFiles,
    /// The key is invalid.
    Key(RingError),
    /// The witness failed.
    Witness(io::Error),
    /// A file system error.
    Io(io::Error),
}

impl StateError {
    pub(super) fn new(directory: &Path, file: &'static str, problem: StateProblem) -> Self {
        Self { directory: directory.into(), file, problem }
    }

    pub(super) fn io(directory: &Path, file: &'static str, error: io::Error) -> Self {
        let problem = match error.downcast::<StateProblem>() {
            // The witness is not in the directory.
            Ok(problem @ StateProblem::Witness(_)) => return Self::new(directory, "", problem),
            Ok(problem) => problem,
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => StateProblem::InUse,
                io::ErrorKind::InvalidData => StateProblem::Damaged,
                _ => StateProblem::Io(error),
            },
        };
        Self::new(directory, file, problem)
    }

    /// Returns the problem.
    pub fn problem(&self) -> &StateProblem {
        &self.problem
    }

    /// Returns whether starting afresh is the remedy: the content is useless with this key and this version.
    pub fn is_of_content(&self) -> bool {
        matches!(
            self.problem,
            StateProblem::WrongKey
                | StateProblem::Damaged
                | StateProblem::Missing
                | StateProblem::Older { .. }
                | StateProblem::Newer { .. }
        )
    }

    /// Returns instructions for starting afresh when the content is useless, with the command.
    pub fn how_to_start_afresh(directory: &Path) -> String {
        let directory = directory.display().to_string().replace('\'', r"'\''");
        format!(
            "to start afresh, which costs each client a full handshake: \
             rm -f '{directory}'/ring '{directory}'/state '{directory}'/snapshot '{directory}'/reset-key \
             '{directory}'/associations"
        )
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self.file {
            "" => self.directory.clone(),
            file => self.directory.join(file),
        };
        write!(f, "{}: {}", path.display(), self.problem)?;
        // Without its associations a state works: their clients connect again.
        if self.is_of_content() && self.file != ASSOCIATIONS {
            write!(f, "; {}", Self::how_to_start_afresh(&self.directory))?;
        }
        Ok(())
    }
}

impl std::error::Error for StateError {}

/// The file of associations.
pub(super) const ASSOCIATIONS: &str = "associations";

impl fmt::Display for StateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse => {
                f.write_str("another process uses this state; stop it, or use another directory")
            }
            Self::WrongKey => f.write_str(
                "sealed under another key, as in a copy from another machine; give the key that it was closed with",
            ),
            Self::Damaged => f.write_str("damaged, or not of this state"),
            Self::Missing => f.write_str("missing, while other files of the state exist"),
            Self::Older { version } => {
                write!(f, "of an older version (format {version}), which is no longer read")
            }
            Self::Newer { version } => {
                write!(f, "of a newer version (format {version}); use the program that wrote it")
            }
            Self::OwnedByAnother { owner } => write!(
                f,
                "this directory belongs to another user (number {owner}), who could restore an old state; chown it, \
                 or use another"
            ),
            Self::WritableByOthers { mode } => write!(
                f,
                "others can write to this directory (mode {mode:04o}), so they could restore an old state; chmod go-w \
                 it, or use another"
            ),
            Self::HoldsOtherFiles => f.write_str(
                "this directory holds files that belong to no state; give the state its own directory",
            ),
            Self::Key(error) => write!(f, "the key of the state (`state-key`) is unusable: {error}"),
            Self::Witness(error) => write!(f, "its witness can't be read: {error}"),
            Self::Io(error) => match error.kind() {
                io::ErrorKind::NotFound => {
                    f.write_str("its directory does not exist; create it")
                }
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                    f.write_str("this is a file, and a directory is needed")
                }
                io::ErrorKind::PermissionDenied => f.write_str(
                    "permission denied; run as the user who owns it, or change its owner",
                ),
                io::ErrorKind::ReadOnlyFilesystem => f.write_str(
                    "on a read-only file system; use a directory on another",
                ),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    f.write_str("the file system is full; free some space, or use another")
                }
                _ => write!(f, "{error}"),
            },
        }
    }
}

impl std::error::Error for StateProblem {}

impl From<StateProblem> for io::Error {
    fn from(problem: StateProblem) -> Self {
        Self::new(io::ErrorKind::InvalidData, problem)
    }
}
