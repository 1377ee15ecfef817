//! Types of values other than strings and numbers.

use clap::ValueEnum;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_kit::names;
pub(super) use tessera_proxy::config::de::{duration, path_of, paths, some_key, some_path};

/// Which data may travel in a first flight. Replayable early data is not offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Early {
    /// Forward-secret, accepted at most once.
    #[default]
    #[value(help = None)]
    Fs,
    /// None.
    #[value(help = None)]
    Never,
}

/// Parses groups by name.
pub(super) fn groups<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NamedGroup>, D::Error> {
    named(from, names::group)
}

/// Parses cipher suites by name.
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
