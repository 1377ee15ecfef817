//! The report of the experiment `load`, as JSON.

use serde::{Deserialize, Serialize};
use tessera_reports::load::Kind;
use tessera_reports::{Machine, Summary, Variant};

use super::growth;
use super::histogram::Histogram;
use crate::components::Memory;

/// An experiment with its results.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    /// The source revision of the program that measured.
    pub(crate) revision: Option<String>,
    /// How the link was made: `tun` or `loopback`.
    pub(crate) link: String,
    pub(crate) cells: Vec<Cell>,
    /// The memory of connections, by component; of variants whose stores are in memory.
    pub(crate) memory: Vec<Memory>,
    pub(crate) growth: Vec<Growth>,
    /// What the storms of each row and size have in common. Reports of single storms don't have it.
    #[serde(default)]
    pub(crate) storms: Vec<StormSummary>,
    pub(crate) not_run: Vec<SkippedCell>,
}

/// One way of connecting under one load.
pub(crate) type Cell = tessera_reports::load::Cell<Histogram>;

/// How the server's processor time grows with the number of users, at one round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Growth {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    pub(crate) rtt_ms: f64,
    /// k in: processor time of the server's process = c · usersᵏ, by least squares of the logarithms.
    pub(crate) exponent: f64,
    /// The 95 % confidence interval; `None` with fewer than three numbers of users.
    pub(crate) interval: Option<(f64, f64)>,
}

/// The storms of one row and size at one round-trip time: those that succeeded, or all if none did. Each summary is of a
/// number that each of them has: the median of the rounds, with its interval if there are six or more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StormSummary {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    /// How many connections come back at once.
    pub(crate) users: usize,
    pub(crate) rtt_ms: f64,
    /// How many storms these are.
    pub(crate) rounds: usize,
    /// Of each storm's median.
    pub(crate) first_accepted_us: Option<Summary>,
    /// Of each storm's median.
    pub(crate) response_us: Option<Summary>,
    pub(crate) server_cpu_us_per_connection: Option<Summary>,
    pub(crate) server_tls_us_per_connection: Option<Summary>,
    /// The server's TLS work, as a share of that for a full handshake in the same round, with the same key exchange; with
    /// X25519 where this row has none.
    pub(crate) tls_work_of_full: Option<Summary>,
}

/// A cell that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkippedCell {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    pub(crate) kind: Kind,
    pub(crate) users: usize,
    /// From 1; `None` in a report of single storms.
    #[serde(default)]
    pub(crate) round: Option<usize>,
    pub(crate) rtt_ms: f64,
    pub(crate) reason: String,
}

/// Returns the growth of each row at each round-trip time, by the cells that succeeded.
pub(crate) fn growth(cells: &[Cell]) -> Vec<Growth> {
    let of_users = |cell: &&Cell| cell.kind == Kind::Users && cell.succeeded();
    let mut found: Vec<Growth> = Vec::new();
    for first in cells.iter().filter(of_users) {
        let same =
            |variant: &Variant, rtt_ms: f64| *variant == first.variant && rtt_ms == first.rtt_ms;
        if found.iter().any(|growth| same(&growth.variant, growth.rtt_ms)) {
            continue;
        }
        let points = cells.iter().filter(of_users).filter(|cell| same(&cell.variant, cell.rtt_ms));
        let cost = |cell: &Cell| {
            let connections = (cell.users * cell.reconnections) as f64;
            (cell.users as f64, cell.server_cpu_us_per_connection * connections)
        };
        if let Some(fit) = growth::fit(points.map(cost)) {
            let (variant, rtt_ms) = (first.variant, first.rtt_ms);
            found.push(Growth { variant, rtt_ms, exponent: fit.exponent, interval: fit.interval });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Histogram;
    use crate::variants;

    fn cell(users: usize, cpu_us_per_connection: f64, failed: u64) -> Cell {
        Cell {
            variant: variants::all()[0],
            kind: Kind::Users,
            users,
            round: 1,
            rtt_ms: 33.0,
            reconnections: 20,
            failed,
            why_failed: [].into(),
            requests: 0,
            seconds: 1.0,
            requests_per_second: 0.0,
            first_accepted_us: Histogram::default(),
            response_us: Histogram::default(),
            registration_us: Histogram::default(),
            server_cpu_us_per_connection: cpu_us_per_connection,
            server_tls_us_per_connection: 0.0,
            client_cpu_us_per_connection: 0.0,
            server_memory_bytes: Some(0),
            vault_bytes: Some(0),
            tickets: 0,
        }
    }

    /// A server that fails does little work, which would improve its growth.
    #[test]
    fn failures_are_no_points_of_growth() {
        let mut cells = [1, 10, 100, 1_000].map(|users| cell(users, 500.0, 0));
        // One of 1,000 is not worth a point.
        cells[3].failed = 20;
        let all = growth(&cells);
        assert_eq!(all.len(), 1);
        assert!((all[0].exponent - 1.0).abs() < 1e-9, "{all:?}");
        cells[3] = cell(1_000, 5.0, 19_800);
        let left = growth(&cells);
        assert_eq!(left[0].exponent, growth(&cells[..3])[0].exponent);
        for cell in &mut cells {
            cell.failed = 20;
        }
        cells[3].failed = 21;
        assert!(growth(&cells).is_empty(), "of 1, 10 and 100 users more than one of 1,000 failed");
        assert!(!Cell { users: 0, ..cells[0].clone() }.succeeded());
    }
}
