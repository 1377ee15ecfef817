//! What can go wrong, in words that say what to do.

use std::fmt;
use std::io;
use std::path::Path;

/// Why there is no server or no connection.
#[derive(Debug)]
pub enum PeerError {
    /// The options can't be as they are.
    Options(String),
    /// Something failed on the way.
    Failed(String),
}

impl PeerError {
    pub(crate) fn options(what: impl Into<String>) -> Self {
        Self::Options(what.into())
    }

    pub(crate) fn failed(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::Failed(format!("{what}: {error}"))
    }

    /// A file that was named to be read, and can't be.
    pub(crate) fn file(path: &Path, option: &str, error: &io::Error) -> Self {
        Self::of_path(path, option, error, "there is no such file")
    }

    /// A file or directory that was named to be written, and can't be.
    pub(crate) fn output(path: &Path, option: &str, error: &io::Error) -> Self {
        Self::of_path(path, option, error, "the directory that it should be in does not exist")
    }

    fn of_path(path: &Path, option: &str, error: &io::Error, missing: &str) -> Self {
        let what = match error.kind() {
            io::ErrorKind::NotFound => missing.to_owned(),
            io::ErrorKind::IsADirectory => "this is a directory, and a file is needed".to_owned(),
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                "this is a file, and a directory is needed".to_owned()
            }
            io::ErrorKind::PermissionDenied => {
                "permission denied; run as a user who may use it, or change its permissions"
                    .to_owned()
            }
            _ => error.to_string(),
        };
        Self::Options(format!("{}: {what}; check the path after {option}", path.display()))
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(what) | Self::Failed(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for PeerError {}

impl From<tessera::Error> for PeerError {
    fn from(error: tessera::Error) -> Self {
        match error {
            tessera::Error::Configuration(what) => Self::Options(what.to_owned()),
            other => Self::Failed(other.to_string()),
        }
    }
}
