//! What is read of the report of `load`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::machine::Machine;
use crate::variants::Variant;

/// The report.
#[derive(Deserialize)]
pub(crate) struct Load {
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    pub(crate) revision: Option<String>,
    pub(crate) cells: Vec<LoadCell>,
    #[serde(default)]
    pub(crate) memory: Vec<Memory>,
    #[serde(default)]
    pub(crate) growth: Vec<Growth>,
    #[serde(default)]
    pub(crate) not_run: Vec<LoadNotRun>,
}

/// How users come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Each comes back again and again.
    Users,
    /// All come back at once.
    Storm,
}

/// One variant under one load.
#[derive(Deserialize)]
pub(crate) struct LoadCell {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    pub(crate) kind: Kind,
    pub(crate) users: u64,
    pub(crate) rtt_ms: f64,
    pub(crate) reconnections: u64,
    pub(crate) failed: u64,
    pub(crate) requests_per_second: f64,
    pub(crate) first_accepted_us: Buckets,
    pub(crate) response_us: Buckets,
    pub(crate) registration_us: Buckets,
    pub(crate) server_cpu_us_per_connection: f64,
    pub(crate) server_tls_us_per_connection: f64,
    pub(crate) client_cpu_us_per_connection: f64,
    pub(crate) server_memory_bytes: f64,
    pub(crate) vault_bytes: f64,
}

impl LoadCell {
    /// How many reconnections were asked for.
    pub(crate) fn asked(&self) -> u64 {
        match self.kind {
            Kind::Users => self.users * self.reconnections,
            Kind::Storm => self.users,
        }
    }
}

/// Every sample, in buckets of 1 %: the middle of each, and how many are in it.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Buckets(Vec<(f64, u64)>);

impl Buckets {
    /// The smallest bucket that this share of the samples doesn't exceed; `None` without samples.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.0.iter().map(|(_, count)| count).sum();
        let wanted = (share * all as f64 - 1e-9).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.0.iter().find_map(|(middle, count)| {
            seen += count;
            (seen >= wanted).then_some(*middle)
        })
    }
}

/// What one connection holds, by the component that holds it, in bytes.
#[derive(Deserialize)]
pub(crate) struct Memory {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    /// `new` or `resumed`.
    pub(crate) connection: String,
    /// `client` or `server`.
    pub(crate) side: String,
    pub(crate) components: BTreeMap<String, f64>,
    pub(crate) total: f64,
    pub(crate) vault_bytes: Option<f64>,
}

/// How the server's processor time grows with the number of users.
#[derive(Deserialize)]
pub(crate) struct Growth {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    pub(crate) rtt_ms: Option<f64>,
    pub(crate) exponent: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// A cell without numbers.
#[derive(Deserialize)]
pub(crate) struct LoadNotRun {
    pub(crate) reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_buckets_are_buckets() {
        let buckets = Buckets(vec![(1.0, 50), (2.0, 49), (9.0, 1)]);
        let found = [0.0, 0.5, 0.51, 0.99, 0.999, 1.0].map(|share| buckets.quantile(share));
        assert_eq!(found, [1.0, 1.0, 2.0, 2.0, 9.0, 9.0].map(Some));
        assert_eq!(Buckets(Vec::new()).quantile(0.5), None);
    }
}
