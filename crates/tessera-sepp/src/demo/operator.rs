//! A SEPP as `tessera sepp run` runs it, and its counters.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_proxy::admin::{self, Health};
use tessera_proxy::demo::{Files, OperatorIdentity, failed as stage_failed};
use tessera_proxy::listen::InheritedSockets;
use tessera_proxy::process::{RunningProduct, StartContext};
use tokio::time::{Instant, sleep};

use crate::load::LoadedConfiguration;
use crate::n32c::Association;
use crate::names::Fqdn;
use crate::running::RunningSepp;

/// A running SEPP.
pub(super) struct Operator {
    pub(super) sepp: Arc<RunningSepp>,
    registry: admin::Metrics,
    path: PathBuf,
}

impl Operator {
    /// Starts a SEPP with these tables, in addition to the common ones.
    pub(super) async fn start(
        files: &Files,
        who: OperatorIdentity,
        n32c: SocketAddr,
        tables: &str,
    ) -> Result<Self, ProgramError> {
        let name = who.name;
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        let own = who.own(format_args!("{name}.pem"), [free, n32c, free]);
        let file = format!("{name}.toml");
        files.write(&file, &format!("[process]\ndrain = \"2s\"\n{own}{tables}"))?;
        let path = files.path(&file);
        let loaded = LoadedConfiguration::read(&path)?;
        let (registry, health) = (admin::Metrics::new(), Health::new());
        let mut inherited = InheritedSockets::default();
        let beginning = StartContext::new(&mut inherited, &registry, &health);
        let sepp = RunningSepp::start(&path, loaded, beginning).await?;
        Ok(Self { sepp: Arc::new(sepp), registry, path })
    }

    pub(super) fn address(&self, listener: &str) -> Result<SocketAddr, ProgramError> {
        self.sepp.address(listener).ok_or_else(|| stage_failed("a listener without an address"))
    }

    /// Returns its association with another operator.
    pub(super) fn association(&self, peer: OperatorIdentity) -> Option<Arc<Association>> {
        let peer: Fqdn = peer.fqdn.parse().ok()?;
        self.sepp.sepp().associations().established(&peer)
    }

    /// Returns its current counters.
    pub(super) fn counts(&self) -> Counts {
        Counts::read(&self.registry.text())
    }

    /// Waits until the counters satisfy a condition, or for a while, and returns them.
    pub(super) async fn until(&self, there: impl Fn(&Counts) -> bool) -> Counts {
        let patience = Instant::now() + Duration::from_secs(5);
        loop {
            let counts = self.counts();
            if there(&counts) || Instant::now() >= patience {
                return counts;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Replaces text in its configuration, and reloads it as SIGHUP does.
    pub(super) fn reload(&self, this: &str, that: &str) -> Result<(), ProgramError> {
        let failed = |error| ProgramError::failed(self.path.display(), error);
        let text = fs::read_to_string(&self.path).map_err(failed)?;
        fs::write(&self.path, text.replace(that, this)).map_err(failed)?;
        self.sepp.reload()
    }

    pub(super) async fn end(&self) -> Result<(), ProgramError> {
        self.sepp.end().await
    }
}

/// The counters of a SEPP: series, as its metrics name them.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts(BTreeMap<String, u64>);

impl Counts {
    fn read(text: &str) -> Self {
        let series = |line: &str| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        Self(text.lines().filter(|line| !line.starts_with('#')).filter_map(series).collect())
    }

    /// Returns the sum of this metric's series that have all these labels.
    pub(super) fn of(&self, metric: &str, labels: &[(&str, &str)]) -> u64 {
        let label = |&(key, value): &(&str, &str)| format!("{key}=\"{value}\"");
        let labels: Vec<_> = labels.iter().map(label).collect();
        let of_metric = self.0.iter().filter(|(name, _)| {
            name.strip_prefix(metric).is_some_and(|rest| rest.is_empty() || rest.starts_with('{'))
        });
        let fits = |name: &str| labels.iter().all(|label| name.contains(label.as_str()));
        of_metric.filter(|(name, _)| fits(name)).map(|(_, count)| count).sum()
    }

    /// Returns the value of a label in the only series of this metric that counted since then; `None` if there is none,
    /// or several.
    pub(super) fn moved(&self, since: &Self, metric: &str, label: &str) -> Option<String> {
        let moved = |(name, count): &(&String, &u64)| {
            name.starts_with(metric) && **count > since.0.get(*name).copied().unwrap_or_default()
        };
        let mut found = self.0.iter().filter(moved);
        let (name, _) = found.next()?;
        if found.next().is_some() {
            return None;
        }
        let (_, rest) = name.split_once(&format!("{label}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_by_labels_and_by_what_moved() {
        let before =
            Counts::read("# HELP a b\na_total{x=\"1\",y=\"q\"} 2\na_total{x=\"2\",y=\"r\"} 3\n");
        assert_eq!(before.of("a_total", &[]), 5);
        assert_eq!(before.of("a_total", &[("x", "2")]), 3);
        assert_eq!(before.of("a", &[]), 0);
        let after = Counts::read("a_total{x=\"1\",y=\"q\"} 2\na_total{x=\"2\",y=\"r\"} 4\n");
        assert_eq!(after.moved(&before, "a_total", "y").as_deref(), Some("r"));
        assert_eq!(after.moved(&after, "a_total", "y"), None);
        assert_eq!(after.moved(&Counts::default(), "a_total", "y"), None, "which of them?");
    }
}
