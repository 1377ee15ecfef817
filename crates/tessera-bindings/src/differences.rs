//! Settings in which the members of a pool differ, though they must not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::sleep;

use crate::settings::PoolSettings;
use crate::table::BindingTable;

/// How often differences are looked for, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl BindingTable {
    /// Returns a sentence for each setting in which live proxies differ, or this process, which has `own`, differs from them.
    /// What only one of them has isn't compared.
    #[must_use]
    pub fn differing_settings(&self, own: &PoolSettings) -> Vec<String> {
        let proxies = self.proxies();
        let mut found: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
        let entries = proxies.iter().map(|(name, entry)| (&name.0[..], &entry.settings));
        for (holder, settings) in entries.chain([("this process", own)]) {
            for (name, value) in settings.iter() {
                found.entry(name).or_default().entry(value).or_default().insert(holder);
            }
        }
        let differing = found.into_iter().filter(|(_, values)| values.len() > 1);
        let sentence = |(name, values): (&str, BTreeMap<&str, BTreeSet<&str>>)| {
            let value = |(value, holders): (&str, BTreeSet<&str>)| {
                format!("{value} at {}", holders.into_iter().collect::<Vec<_>>().join(", "))
            };
            let values: Vec<_> = values.into_iter().map(value).collect();
            format!("{name} must be the same in the whole pool, and is {}", values.join("; "))
        };
        differing.map(sentence).collect()
    }

    /// Logs each of [`differing_settings`](Self::differing_settings) when it begins, as long as it runs.
    pub async fn log_differing_settings(self, own: PoolSettings) {
        let mut changes = self.changes();
        let mut known = Vec::new();
        loop {
            let found = self.differing_settings(&own);
            found
                .iter()
                .filter(|it| !known.contains(*it))
                .for_each(|sentence| tracing::warn!("{sentence}"));
            known = found;
            if changes.changed().await.is_err() {
                return;
            }
            sleep(LOOK_EVERY).await;
        }
    }
}
