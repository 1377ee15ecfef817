//! What can go wrong, in words that say what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::setting::SettingFile;

/// Why a program can't do what it was asked to.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProgramError {
    /// The settings can't be as they are. Programs end with the exit code 2.
    Settings(String),
    /// A file that a setting names can't be had, or can't be as it is. Programs end with the exit code 2.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, where it is a line's fault.
        line: Option<usize>,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// Something failed on the way. Programs end with the exit code 1.
    Failed(String),
}

impl ProgramError {
    /// The settings can't be as they are.
    pub fn settings(what: impl Into<String>) -> Self {
        Self::Settings(what.into())
    }

    /// Something failed on the way.
    pub fn failed(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::Failed(format!("{what}: {error}"))
    }

    /// A file can't be as it is.
    pub fn in_file(path: &Path, what: impl fmt::Display) -> Self {
        Self::File { path: path.to_owned(), line: None, what: what.to_string() }
    }

    /// A line of a file can't be as it is; lines are counted from 1.
    pub fn in_line(path: &Path, line: usize, what: impl fmt::Display) -> Self {
        Self::File { path: path.to_owned(), line: Some(line), what: what.to_string() }
    }

    /// The file that is to be looked at, where it is one file's fault.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Settings(_) | Self::Failed(_) => None,
        }
    }

    /// The exit code of a program that ends with it: 2 where the settings or their files are at fault.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Settings(_) | Self::File { .. } => 2,
            Self::Failed(_) => 1,
        }
    }

    /// A file that was named to be read, and can't be.
    #[must_use]
    pub fn input(file: SettingFile<'_>, error: &io::Error) -> Self {
        Self::of_path(file, error, "there is no such file")
    }

    /// A file or directory that was named to be written, and can't be.
    #[must_use]
    pub fn output(file: SettingFile<'_>, error: &io::Error) -> Self {
        Self::of_path(file, error, "the directory that it should be in does not exist")
    }

    fn of_path(
        SettingFile { setting, path }: SettingFile<'_>,
        error: &io::Error,
        missing: &str,
    ) -> Self {
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
        Self::in_file(path, format_args!("{what}; check the path after {setting}"))
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(what) | Self::Failed(what) => f.write_str(what),
            Self::File { path, line: None, what } => write!(f, "{}: {what}", path.display()),
            Self::File { path, line: Some(line), what } => {
                write!(f, "{}:{line}: {what}", path.display())
            }
        }
    }
}

impl std::error::Error for ProgramError {}

impl From<tessera::Error> for ProgramError {
    fn from(error: tessera::Error) -> Self {
        match error {
            tessera::Error::Configuration(what) => Self::Settings(what.to_owned()),
            other => Self::Failed(other.to_string()),
        }
    }
}
