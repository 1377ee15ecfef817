//! Reads configuration from a TOML file; errors name their place and suggest a fix.

mod contradiction;
pub mod de;
mod explain;
mod fields;
mod place;
mod values;
pub mod warnings;

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use tessera_kit::{ProgramError, files};
use toml::de::DeTable;

pub use self::contradiction::{
    Contradiction, check_listeners, find_impossible_name, find_name_with_kind, find_zero_count,
    find_zero_time, wrong,
};
pub use self::explain::nearest;
pub use self::values::{ByteLength, FilePath, Seconds};

use self::place::Place;

/// Reads a configuration from a TOML file.
///
/// Every type in `T` should have `#[serde(deny_unknown_fields)]`, which makes an unknown key an error with its line and
/// the nearest known key. Errors in a type with `#[serde(flatten)]` have no line.
///
/// ```no_run
/// use std::collections::BTreeMap;
/// use std::path::Path;
///
/// use serde::Deserialize;
/// use tessera_proxy::config::{self, FilePath, Seconds};
///
/// #[derive(Deserialize)]
/// #[serde(rename_all = "kebab-case", deny_unknown_fields)]
/// struct Configuration {
///     #[serde(default)]
///     server: BTreeMap<String, Server>,
/// }
///
/// #[derive(Deserialize)]
/// #[serde(rename_all = "kebab-case", deny_unknown_fields)]
/// struct Server {
///     listen: String,
///     certificate: FilePath,
///     handshake: Option<Seconds>,
/// }
///
/// # fn main() -> Result<(), tessera_kit::ProgramError> {
/// let configuration: Configuration = config::load(Path::new("/etc/example.toml"))?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the file can't be read, is not TOML, is empty, or is not a `T`.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<T, ProgramError> {
    Document::read(path)?.parse()
}

/// The text of a configuration, for checks that types can't express: their errors name the line too.
#[derive(Debug, Clone)]
pub struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    /// Reads the file.
    ///
    /// # Errors
    /// If it can't be read, is not a regular file, is not UTF-8, or is longer than 16 MiB.
    pub fn read(path: &Path) -> Result<Self, ProgramError> {
        let bytes = files::read_path(path, LONGEST);
        let mut bytes = bytes.map_err(|error| unreadable(path, &error))?;
        let text = String::from_utf8(std::mem::take(&mut *bytes)).map_err(|error| {
            let valid = error.as_bytes().get(..error.utf8_error().valid_up_to());
            let line = explain::line_at_end(valid.unwrap_or_default());
            ProgramError::in_line(
                path,
                line,
                "this is not UTF-8, which TOML requires: save it as UTF-8",
            )
        })?;
        Ok(Self::from_text(path, text))
    }

    /// Uses this text, under this path in errors; relative paths start at its directory.
    #[must_use]
    pub fn from_text(path: &Path, text: String) -> Self {
        Self { path: path.to_owned(), text }
    }

    /// Parses the text.
    ///
    /// # Errors
    /// If it is not TOML, is empty, or is not a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ProgramError> {
        let root = DeTable::parse(&self.text).map_err(|error| self.explain(&error))?;
        // A full disk can truncate the file to nothing. Accepting that would end everything that runs.
        if root.get_ref().is_empty() {
            return Err(ProgramError::in_file(&self.path, "there is no key in this file"));
        }
        let directory = self.path.parent().unwrap_or(Path::new(""));
        values::with_directory(directory, || toml::from_str(&self.text)).map_err(|error| {
            if let Some((position, what)) = fields::unknown_at_top::<T>(root.get_ref()) {
                return self.wrong_at(position, what);
            }
            // The table at the top has no place in the file, and its errors that of the first section.
            match explain::missing_key(&error) {
                Some(key) if fields::is_missing_at_top::<T>(root.get_ref(), key) => {
                    ProgramError::in_file(&self.path, format!("the section [{key}] is missing"))
                }
                _ => self.explain(&error),
            }
        })
    }

    /// Returns an error about a key, named by its tables and itself: `["server", "postgres", "listen"]`. If the file
    /// doesn't have the key, the error has the line of the table where it belongs.
    pub fn error(&self, key: &[&str], what: impl Display) -> ProgramError {
        let place = Place::named(key);
        let what = format!("{place}: {what}");
        match place.position(&self.text) {
            Some(position) => self.wrong_at(position, what),
            None => ProgramError::in_file(&self.path, what),
        }
    }

    fn wrong_at(&self, position: usize, what: String) -> ProgramError {
        let before = self.text.as_bytes().get(..position).unwrap_or_default();
        ProgramError::in_line(&self.path, explain::line_at_end(before), what)
    }

    /// Adds the line of the key to an error that [`key_of`] can parse. Returns other errors unchanged: they name
    /// another file.
    pub fn locate(&self, error: ProgramError) -> ProgramError {
        match &error {
            ProgramError::Settings(text) => match key_of(text) {
                Some((path, what)) => self.error(&path, what),
                None => error,
            },
            _ => error,
        }
    }

    fn explain(&self, error: &toml::de::Error) -> ProgramError {
        let what = explain::in_words(error, &self.text);
        match error.span() {
            Some(span) => self.wrong_at(span.start, what),
            None => ProgramError::in_file(&self.path, what),
        }
    }
}

/// Defines a section of which every key has a default, written after it: `pub drain: Duration =
/// Duration::from_secs(30),`.
#[macro_export]
macro_rules! with_defaults {
    (
        $(#[$doc:meta])*
        pub struct $section:ident { $($(#[$of_key:meta])* pub $key:ident: $type:ty = $default:expr,)+ }
    ) => {
        $(#[$doc])*
        pub struct $section { $($(#[$of_key])* pub $key: $type,)+ }

        impl Default for $section {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }
    };
}

/// Splits an error into tables and key, and its message: `[server.NAME] key: what`, `[process] key: what`, or
/// `[server.NAME] table.key: what`. The name may contain dots.
pub fn key_of(error: &str) -> Option<(Vec<&str>, &str)> {
    let (section, rest) = error.strip_prefix('[')?.split_once("] ")?;
    let (key, what) = rest.split_once(": ")?;
    if key.contains(' ') {
        return None;
    }
    let tables = match section.split_once('.') {
        Some((kind, name)) => vec![kind, name],
        None => vec![section],
    };
    Some((tables.into_iter().chain(key.split('.')).collect(), what))
}

/// The longest configuration, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

fn unreadable(path: &Path, error: &io::Error) -> ProgramError {
    let what = match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::IsADirectory => "this is a directory; name a TOML file".to_owned(),
        ErrorKind::PermissionDenied => {
            "permission denied; run as a user who may read it, or change its permissions".to_owned()
        }
        _ => error.to_string(),
    };
    ProgramError::in_file(path, what)
}
