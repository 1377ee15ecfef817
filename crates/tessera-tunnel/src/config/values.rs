//! Values that are more than a string or a number.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::{Error, IntoDeserializer};
use serde::{Deserialize, Deserializer};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_kit::{KeySource, names};
use tessera_proxy::config::{FilePath, Seconds};

/// Which data may go in a first flight. Replayable early data is not offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Early {
    /// Forward-secret, accepted at most once.
    #[default]
    Fs,
    /// None.
    Never,
}

/// A length of time.
pub(super) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Seconds::deserialize(from).map(Duration::from)
}

/// The path of a file or directory, relative to the file of the configuration.
pub(super) fn path<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    FilePath::deserialize(from).map(|path| path.to_path_buf())
}

/// The same where a key may be left out: it is there if this is asked.
pub(super) fn some_path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
    path(from).map(Some)
}

/// Several paths.
pub(super) fn paths<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<FilePath>::deserialize(from)?;
    Ok(paths.iter().map(|path| path.to_path_buf()).collect())
}

/// The same of a text that may also be something else.
pub(super) fn path_of<E: Error>(text: &str) -> Result<PathBuf, E> {
    path(text.into_deserializer())
}

/// Where a key comes from: a path, or `credential:NAME`.
pub(super) fn key<'de, D: Deserializer<'de>>(from: D) -> Result<KeySource, D::Error> {
    match KeySource::try_from(String::deserialize(from)?).map_err(D::Error::custom)? {
        KeySource::File(path) => path_of(&path.to_string_lossy()).map(KeySource::File),
        credential @ KeySource::Credential(_) => Ok(credential),
    }
}

/// The same where a key may be left out.
pub(super) fn some_key<'de, D: Deserializer<'de>>(from: D) -> Result<Option<KeySource>, D::Error> {
    key(from).map(Some)
}

/// Groups by their names.
pub(super) fn groups<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NamedGroup>, D::Error> {
    named(from, names::group)
}

/// Cipher suites by their names.
pub(super) fn suites<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CipherSuite>, D::Error> {
    named(from, names::suite)
}

fn named<'de, D: Deserializer<'de>, T>(
    from: D,
    find: fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, D::Error> {
    let find = |name: &String| find(name).map_err(|why| D::Error::custom(format!("{name}: {why}")));
    Vec::<String>::deserialize(from)?.iter().map(find).collect()
}
