//! The results of the relay, as a table or JSON, compared with the targets.

use std::time::Duration;

use serde_json::{Value, json};
use tessera_bench::numbers::{machine, median};

use crate::Failure;
use crate::setting::Way;

/// Of Envoy's processor time.
const MOST_OF_ENVOY: f64 = 1.0;
/// Of nghttpx's processor time, with the most in flight; it judges and counts nothing.
const MOST_OF_NGHTTPX: f64 = 1.7;
/// Of the median latency, with the most in flight.
const MOST_P99: f64 = 3.0;
/// The largest share of a relayed request that the rules may take.
const MOST_RULES: f64 = 0.15;

/// One turn of a way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Of both ends, µs for each request.
    processor: f64,
    per_second: f64,
    /// µs.
    p50: f64,
    /// µs.
    p99: f64,
}

impl Turn {
    pub(crate) fn new(mut latencies: Vec<Duration>, lasted: Duration, used: Duration) -> Self {
        latencies.sort_unstable();
        let count = latencies.len();
        let at = |part: usize| {
            latencies.get(count * part / 100).map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
        };
        Self {
            processor: used.as_secs_f64() * 1e6 / count as f64,
            per_second: count as f64 / lasted.as_secs_f64(),
            p50: at(50),
            p99: at(99),
        }
    }
}

/// All turns.
pub(crate) struct Report {
    notes: String,
    rows: Vec<(Way, usize, Vec<Turn>)>,
    /// Of both ends, µs for each request.
    rules: Vec<(Way, f64)>,
}

impl Report {
    pub(crate) fn new(notes: String) -> Self {
        Self { notes, rows: Vec::new(), rules: Vec::new() }
    }

    pub(crate) fn add(&mut self, way: Way, in_flight: usize, turn: Turn) {
        match self.rows.iter_mut().find(|row| (row.0, row.1) == (way, in_flight)) {
            Some(row) => row.2.push(turn),
            None => self.rows.push((way, in_flight, vec![turn])),
        }
    }

    /// Adds the time of a way's rules for one request.
    pub(crate) fn rules(&mut self, way: Way, time: Duration) {
        self.rules.push((way, time.as_secs_f64() * 1e6));
    }

    /// Returns the share of the rules, where a request is cheapest.
    fn rules_part(&self, way: Way, rules: f64) -> f64 {
        let rows = self.rows.iter().filter(|row| row.0 == way);
        let times = rows.map(|row| middle(&row.2, |turn| turn.processor));
        rules / times.fold(f64::INFINITY, f64::min)
    }

    /// Writes the report; fails with the missed targets.
    pub(crate) fn finish(&self, json: bool) -> Result<(), Failure> {
        if json {
            println!("{:#}", self.json());
        } else {
            self.table();
        }
        let most_in_flight = self.rows.iter().map(|row| row.1).max().unwrap_or_default();
        let mut missed = Vec::new();
        for (way, in_flight, turns) in self.rows.iter().filter(|row| row.0.is_ours()) {
            let is_most = *in_flight == most_in_flight;
            // Without the other program there is no target to miss.
            let of = |other| self.of(other, *in_flight, turns).unwrap_or(0.0);
            let p99 = middle(turns, |turn| turn.p99) / middle(turns, |turn| turn.p50);
            let aims = [
                ("of Envoy", of(Way::Envoy) > MOST_OF_ENVOY),
                ("of nghttpx", is_most && of(Way::Nghttpx) > MOST_OF_NGHTTPX),
                ("p99", is_most && p99 > MOST_P99),
            ];
            missed.extend(
                aims.into_iter()
                    .filter(|(_, is_missed)| *is_missed)
                    .map(|(aim, _)| format!("{}, {in_flight} in flight: {aim}", way.name())),
            );
        }
        for (way, rules) in &self.rules {
            if self.rules_part(*way, *rules) > MOST_RULES {
                missed.push(format!("{}, rules", way.name()));
            }
        }
        if missed.is_empty() { Ok(()) } else { Err(format!("aim missed: {missed:?}").into()) }
    }

    /// Returns the ratio of the processor time to another way's.
    fn of(&self, other: Way, in_flight: usize, turns: &[Turn]) -> Option<f64> {
        let other = self.rows.iter().find(|row| (row.0, row.1) == (other, in_flight))?;
        let processor = |turn: &Turn| turn.processor;
        Some(middle(turns, processor) / middle(&other.2, processor))
    }

    fn table(&self) {
        println!("a request through two proxies; {}; {}\n", self.notes, machine());
        println!(
            "| way | in flight | processor time, µs | of Envoy | of nghttpx | rounds, µs | a second | p50, µs | p99, µs | p99 of p50 |\n\
             |---|---|---|---|---|---|---|---|---|---|"
        );
        for (way, in_flight, turns) in &self.rows {
            let of = |other| {
                let of = self.of(other, *in_flight, turns);
                of.map_or(String::new(), |of| format!("{of:.2}"))
            };
            let times = || turns.iter().map(|turn| turn.processor);
            let (p50, p99) = (middle(turns, |turn| turn.p50), middle(turns, |turn| turn.p99));
            println!(
                "| {} | {in_flight} | {:.1} | {} | {} | {:.1} to {:.1} | {:.0} | {p50:.0} | {p99:.0} | {:.2} |",
                way.name(),
                middle(turns, |turn| turn.processor),
                of(Way::Envoy),
                of(Way::Nghttpx),
                times().fold(f64::INFINITY, f64::min),
                times().fold(0.0, f64::max),
                middle(turns, |turn| turn.per_second),
                p99 / p50,
            );
        }
        for (way, rules) in &self.rules {
            let part = 100.0 * self.rules_part(*way, *rules);
            println!("\n{}: its rules take {rules:.2} µs of a request, {part:.1} %", way.name());
        }
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|(way, in_flight, turns)| {
            let turn = |it: &Turn| {
                json!({
                    "processor_us": it.processor, "per_second": it.per_second,
                    "p50_us": it.p50, "p99_us": it.p99,
                })
            };
            json!({
                "way": way.name(),
                "in_flight": in_flight,
                "of_envoy": self.of(Way::Envoy, *in_flight, turns),
                "of_nghttpx": self.of(Way::Nghttpx, *in_flight, turns),
                "turns": turns.iter().map(turn).collect::<Vec<_>>(),
            })
        });
        let rows: Vec<_> = rows.collect();
        let rules = self.rules.iter().map(|(way, rules)| {
            json!({ "way": way.name(), "us": rules, "part": self.rules_part(*way, *rules) })
        });
        let rules: Vec<_> = rules.collect();
        json!({
            "bench": "relay", "notes": self.notes, "machine": machine(), "rows": rows, "rules": rules,
        })
    }
}

fn middle(turns: &[Turn], of: impl Fn(&Turn) -> f64) -> f64 {
    median(&turns.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}
