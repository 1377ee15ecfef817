//! What must be equal at all proxies and orchestrators of a pool.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::binding::MoveTimes;

/// The settings that must be equal in a pool, by their names: no secrets, but perhaps digests of them. They are in the entries of
/// proxies, so that others notice differences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PoolSettings(BTreeMap<String, String>);

impl PoolSettings {
    /// Returns those of a pool's `ma` and times, as configurations name them.
    #[must_use]
    pub fn of_times(ma: Duration, times: &MoveTimes) -> Self {
        let clock_skew = times.drain.saturating_sub(ma);
        let settings = [
            ("[pool] ma", ma),
            ("[pool] dwell", times.dwell),
            ("[pool] prepare", times.prepare),
            ("[pool] follow", times.announce),
            ("[pool] clock-skew", clock_skew),
        ];
        let written = settings.map(|(name, time)| (name.to_owned(), format!("{time:?}")));
        Self(BTreeMap::from(written))
    }

    /// Adds a setting.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Whether there are none: an earlier version wrote the entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&name[..], &value[..]))
    }
}
