//! Functions for `#[serde(deserialize_with = "...")]`: plain types from the values of a configuration.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::{Error, IntoDeserializer};
use serde::{Deserialize, Deserializer};
use tessera_kit::KeySource;

use super::{ByteLength, FilePath, Seconds};

/// Deserializes a duration ([`Seconds`]).
///
/// # Errors
/// If the value is not a duration.
pub fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Seconds::deserialize(from).map(Duration::from)
}

/// The same for an optional key: it is called only if the key is present.
///
/// # Errors
/// If the value is not a duration.
pub fn some_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    duration(from).map(Some)
}

/// Deserializes a length in bytes ([`ByteLength`]).
///
/// # Errors
/// If the value is not a length.
pub fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    ByteLength::deserialize(from).map(u64::from)
}

/// Deserializes the path of a file or directory, relative to the configuration file ([`FilePath`]).
///
/// # Errors
/// If the value is not a path.
pub fn path<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    FilePath::deserialize(from).map(|path| path.to_path_buf())
}

/// The same for an optional key.
///
/// # Errors
/// If the value is not a path.
pub fn some_path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
    path(from).map(Some)
}

/// Deserializes several paths.
///
/// # Errors
/// If one of the values is not a path.
pub fn paths<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<FilePath>::deserialize(from)?;
    Ok(paths.iter().map(|path| path.to_path_buf()).collect())
}

/// Parses a path in a text that may also be something else.
///
/// # Errors
/// If the value is not a path.
pub fn path_of<E: Error>(text: &str) -> Result<PathBuf, E> {
    path(text.into_deserializer())
}

/// Deserializes the source of a key: a path, or `credential:NAME`.
///
/// # Errors
/// If it is neither.
pub fn key<'de, D: Deserializer<'de>>(from: D) -> Result<KeySource, D::Error> {
    match KeySource::try_from(String::deserialize(from)?).map_err(D::Error::custom)? {
        KeySource::File(path) => path_of(&path.to_string_lossy()).map(KeySource::File),
        credential @ KeySource::Credential(_) => Ok(credential),
    }
}

/// The same for an optional key.
///
/// # Errors
/// If it is neither.
pub fn some_key<'de, D: Deserializer<'de>>(from: D) -> Result<Option<KeySource>, D::Error> {
    key(from).map(Some)
}
