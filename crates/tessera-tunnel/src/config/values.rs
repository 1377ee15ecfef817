//! Values that are more than a string or a number.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_kit::{KeySource, names};

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

/// Puts a directory before the path of a key.
pub(super) fn resolve_key(directory: &Path, key: &mut KeySource) {
    if let KeySource::File(path) = key {
        resolve(directory, [path]);
    }
}

/// Puts a directory before paths that are relative.
pub(super) fn resolve<'a>(directory: &Path, paths: impl IntoIterator<Item = &'a mut PathBuf>) {
    for path in paths {
        *path = directory.join(&path);
    }
}

/// A time: `"500ms"`, `"10s"`, `"5min"`, `"12h"`, or seconds.
pub(super) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Seconds(u64),
        Text(String),
    }
    let parse = |text: &str| {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().ok()?;
        let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
        match unit {
            "ms" => Some(Duration::from_millis(number)),
            "" | "s" => seconds(1),
            "min" => seconds(60),
            "h" => seconds(3600),
            "d" => seconds(86_400),
            _ => None,
        }
    };
    match Written::deserialize(deserializer)? {
        Written::Seconds(seconds) => Ok(Duration::from_secs(seconds)),
        Written::Text(text) => parse(&text).ok_or_else(|| {
            D::Error::custom(format!("{text:?} is no time, such as \"500ms\", \"10s\", \"12h\""))
        }),
    }
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
