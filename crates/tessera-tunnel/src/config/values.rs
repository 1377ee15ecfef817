//! Values that are more than a string or a number.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use tessera::wire::{CipherSuite, NamedGroup};

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

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum KeySource {
    /// A file with 32 bytes, or as many in hexadecimal.
    File(PathBuf),
    /// Such a file among the service's credentials (systemd.exec(5), `LoadCredential=`): `credential:NAME`.
    Credential(String),
}

impl From<String> for KeySource {
    fn from(text: String) -> Self {
        match text.strip_prefix("credential:") {
            Some(name) => Self::Credential(name.to_owned()),
            None => Self::File(text.into()),
        }
    }
}

impl KeySource {
    pub(super) fn resolve(&mut self, directory: &Path) {
        if let Self::File(path) = self {
            resolve(directory, [path]);
        }
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

/// Groups by the names of their registry.
pub(super) fn groups<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NamedGroup>, D::Error> {
    let provider = tessera_aws_lc::provider_with_rare_groups();
    let known: Vec<_> = provider.groups.iter().map(|group| group.group()).collect();
    named(from, &known)
}

/// Cipher suites by the names of their registry.
pub(super) fn suites<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<CipherSuite>, D::Error> {
    let provider = tessera_aws_lc::provider();
    let known: Vec<_> = provider.suites.iter().map(|suite| suite.id).collect();
    named(from, &known)
}

fn named<'de, D, T>(from: D, known: &[T]) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Copy + std::fmt::Debug,
{
    let find = |name: &String| {
        let found = known.iter().find(|it| format!("{it:?}").eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|it| format!("{it:?}")).collect();
            D::Error::custom(format!("{name:?} is not known; there are {}", names.join(", ")))
        })
    };
    Vec::<String>::deserialize(from)?.iter().map(find).collect()
}
