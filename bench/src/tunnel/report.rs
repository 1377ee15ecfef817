//! Tables and JSON.

use serde_json::{Value, json};
use tessera_bench::numbers::{machine, median};

use crate::Failure;
use crate::ways::{HAPROXY, HAPROXY_AWS_LC, STUNNEL, Way};

/// The results of a benchmark: a number for each way and round.
pub(crate) struct Report {
    title: &'static str,
    unit: &'static str,
    notes: String,
    rows: Vec<Row>,
}

struct Row {
    way: Way,
    /// Distinguishes the rows of one way, such as a direction.
    of: &'static str,
    values: Vec<f64>,
}

/// The target of a way of ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aim {
    pub(crate) of_haproxy: f64,
    pub(crate) of_stunnel: f64,
    /// Of HAProxy on AWS-LC, if that is measured.
    pub(crate) of_haproxy_aws_lc: f64,
    /// Whether it applies to the better of both, and not to each.
    pub(crate) of_better: bool,
}

impl Report {
    pub(crate) fn new(title: &'static str, unit: &'static str, notes: String) -> Self {
        Self { title, unit, notes, rows: Vec::new() }
    }

    /// Adds a round's value.
    pub(crate) fn add(&mut self, way: Way, of: &'static str, value: f64) {
        match self.rows.iter_mut().find(|row| row.way == way && row.of == of) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row { way, of, values: vec![value] }),
        }
    }

    /// Returns the median of all rounds.
    pub(crate) fn median(&self, way: Way, of: &str) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.way == way && row.of == of)?;
        median(&row.values)
    }

    /// Writes the report; fails with the ways among those given that missed the target.
    pub(crate) fn finish(&self, json: bool, aim: Option<(&[Way], Aim)>) -> Result<(), Failure> {
        if json {
            println!("{:#}", self.json())
        } else {
            self.table()
        }
        let Some((ways, aim)) = aim else { return Ok(()) };
        let missed: Vec<_> = self
            .rows
            .iter()
            .filter(|row| ways.contains(&row.way) && !self.reached(row, aim))
            .map(|row| format!("{} {}", row.way.name, row.of).trim().to_owned())
            .collect();
        if missed.is_empty() { Ok(()) } else { Err(format!("aim missed: {missed:?}").into()) }
    }

    fn reached(&self, row: &Row, aim: Aim) -> bool {
        let ratio = |to: Way| self.ratio(row, to).unwrap_or(f64::NAN);
        let (of_haproxy, of_stunnel) = (ratio(HAPROXY), ratio(STUNNEL));
        let is_measured = self.rows.iter().any(|row| row.way == HAPROXY_AWS_LC);
        let is_faster = !is_measured || ratio(HAPROXY_AWS_LC) <= aim.of_haproxy_aws_lc;
        let others = match aim.of_better {
            true => of_haproxy.max(of_stunnel) <= aim.of_haproxy,
            false => of_haproxy <= aim.of_haproxy && of_stunnel <= aim.of_stunnel,
        };
        is_faster && others
    }

    fn ratio(&self, row: &Row, to: Way) -> Option<f64> {
        Some(median(&row.values)? / self.median(to, row.of)?).filter(|ratio| ratio.is_finite())
    }

    fn table(&self) {
        println!("{}, {}; {}; {}\n", self.title, self.unit, self.notes, machine());
        println!(
            "| way | median | of HAProxy | of HAProxy, AWS-LC | of stunnel | least and most |\n\
             |---|---|---|---|---|---|"
        );
        for row in &self.rows {
            let ratio = |to| self.ratio(row, to).map_or(String::new(), |it| format!("{it:.2}"));
            let (least, most) = range(&row.values);
            let of = if row.of.is_empty() { String::new() } else { format!(", {}", row.of) };
            println!(
                "| {}{of} | {:.2} | {} | {} | {} | {least:.2} to {most:.2} |",
                row.way.name,
                median(&row.values).unwrap_or(f64::NAN),
                ratio(HAPROXY),
                ratio(HAPROXY_AWS_LC),
                ratio(STUNNEL),
            );
        }
    }

    fn json(&self) -> Value {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "way": row.way.name,
                    "of": row.of,
                    "median": median(&row.values),
                    "of_haproxy": self.ratio(row, HAPROXY),
                    "of_haproxy_aws_lc": self.ratio(row, HAPROXY_AWS_LC),
                    "of_stunnel": self.ratio(row, STUNNEL),
                    "values": row.values,
                })
            })
            .collect();
        json!({
            "bench": self.title,
            "unit": self.unit,
            "notes": self.notes,
            "machine": machine(),
            "rows": rows,
        })
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}
