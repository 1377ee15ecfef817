//! Errors, with messages that name the remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::setting::SettingFile;

/// Why a program can't do what it was asked to do.
///
/// Its `Debug` is its `Display`: a `main` that returns this error prints the message.
#[non_exhaustive]
pub enum ProgramError {
    /// The settings are invalid. Programs exit with code 2.
    Settings(String),
    /// A file that a setting names is inaccessible or invalid. Programs exit with code 2.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, if the error is in a line.
        line: Option<usize>,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// A failure at run time. Programs exit with code 1.
    Failed(String),
}

impl ProgramError {
    /// Makes an error for invalid settings.
    pub fn settings(what: impl Into<String>) -> Self {
        Self::Settings(what.into())
    }

    /// Makes an error for a failure at run time.
    pub fn failed(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::Failed(format!("{what}: {error}"))
    }

    /// Makes an error for an invalid file.
    pub fn in_file(path: &Path, what: impl fmt::Display) -> Self {
        Self::File { path: path.to_owned(), line: None, what: what.to_string() }
    }

    /// Makes an error for an invalid line of a file; lines are counted from 1.
    pub fn in_line(path: &Path, line: usize, what: impl fmt::Display) -> Self {
        Self::File { path: path.to_owned(), line: Some(line), what: what.to_string() }
    }

    /// Returns the file at fault, if it is one file.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Settings(_) | Self::Failed(_) => None,
        }
    }

    /// Returns the exit code of a program that ends with this error: 2 if settings or their files are at
    /// fault.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Settings(_) | Self::File { .. } => 2,
            Self::Failed(_) => 1,
        }
    }

    /// Makes an error for a named input file that can't be read.
    #[must_use]
    pub fn input(file: SettingFile<'_>, error: &io::Error) -> Self {
        Self::of_path(file, error, "there is no such file")
    }

    /// Makes an error for a named output file or directory that can't be written.
    #[must_use]
    pub fn output(file: SettingFile<'_>, error: &io::Error) -> Self {
        Self::of_path(file, error, "its directory does not exist")
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

impl fmt::Debug for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
