//! The report of the gap of a handover, per kind of client (`bench/edge-gap`), as it was written.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use tessera_reports::Machine;

use super::checks::{is_of, once};
use crate::error::LabError;
use crate::experiment::limits::CheckResult;
use crate::numbers::{count, fixed};
use crate::results::input::{parse, text, wrong};
use crate::statistics::Median;
use crate::table::{Name, Table, cells};
use crate::wired::LONGEST_US;

/// The name of the report in its directory.
pub(super) const FILE: &str = "edge-gap.json";

/// Handovers between two proxies.
#[derive(Deserialize)]
pub(in crate::results) struct Gap {
    experiment: String,
    date: String,
    revision: Option<String>,
    machine: Machine,
    load: f64,
    /// The version of Envoy, and those of the clients.
    envoy: String,
    versions: BTreeMap<Client, String>,
    pub(super) cells: Vec<GapCell>,
}

/// The handovers of one kind of client.
#[derive(Deserialize)]
pub(super) struct GapCell {
    pub(super) client: Client,
    pub(super) pool: Pool,
    pub(super) rtt_ms: f64,
    pub(super) handovers: Vec<Handover>,
}

#[derive(Deserialize)]
pub(super) struct Handover {
    /// From the end of the response that announces the next proxy to the first request that is executed there; `None`: none
    /// was.
    pub(super) gap_us: Option<f64>,
    /// The longest time without an answer afterwards, and the usual one before.
    pub(super) longest_us: f64,
    pub(super) usual_us: f64,
    pub(super) requests: u64,
    /// Not answered by 200.
    pub(super) failed: u64,
    pub(super) doubled: u64,
    /// Of the first connection to the next proxy; `None`: there was none.
    pub(super) resumed: Option<bool>,
    /// Whether the first request there was early data; `None`: its client doesn't report it.
    pub(super) early: Option<bool>,
}

/// A kind of client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Client {
    FollowMovedKey,
    FollowTicket,
    Go,
    CurlCffi,
    Curl,
    Firefox,
    Chromium,
}

/// The proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pool {
    Tessera,
    Envoy,
}

impl Client {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::FollowMovedKey => "tessera-follow, moved key",
            Self::FollowTicket => "tessera-follow, ticket",
            Self::Go => "Go, led by its program",
            Self::CurlCffi => "curl_cffi",
            Self::Curl => "curl, the program",
            Self::Firefox => "Firefox",
            Self::Chromium => "Chromium",
        }
    }
}

impl Gap {
    /// Reads the report, if its directory has it.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, LabError> {
        let text = text(directory, FILE)?;
        Self::of(text.as_deref()).map_err(|(name, what)| wrong(directory, name, &what))
    }

    /// Parses it; an error has its name, and what is wrong with it.
    pub(super) fn of(text: Option<&str>) -> Result<Option<Self>, (&'static str, String)> {
        parse(FILE, text, check)
    }

    /// Adds it to the table of all reports.
    pub(super) fn setting(&self, table: &mut Table) {
        let handovers: usize = self.cells.iter().map(|it| it.handovers.len()).sum();
        let versions = self.versions.iter().map(|(client, version)| match client {
            Client::Firefox | Client::Chromium | Client::Go => version.clone(),
            other => format!("{} {version}", other.words()),
        });
        let versions = versions.collect::<Vec<_>>();
        let of = format!(
            "{} handovers, with Envoy {}, {}",
            count(handovers),
            self.envoy,
            versions.join(", ")
        );
        let revision = self.revision.as_ref().map(|it| format!("{it}, {}", self.date));
        let cells =
            cells![of, self.machine.to_string(), revision, fixed(self.load, 2), "one handover"];
        table.row(Name::file(FILE), cells);
    }

    pub(super) fn gap(&self, client: Client, pool: Pool, rtt_ms: f64) -> Option<Median> {
        let is_it = |it: &&GapCell| (it.client, it.pool, it.rtt_ms) == (client, pool, rtt_ms);
        self.cells.iter().find(is_it)?.gap()
    }
}

impl GapCell {
    pub(super) fn gaps(&self) -> impl Iterator<Item = f64> {
        self.handovers.iter().filter_map(|it| Some(it.gap_us? / 1e3))
    }

    pub(super) fn gap(&self) -> Option<Median> {
        Median::of(self.gaps())
    }

    fn name(&self) -> String {
        format!("{:?}/{:?}/{}", self.client, self.pool, self.rtt_ms)
    }
}

fn check(report: &Gap) -> CheckResult {
    is_of("edge-gap", &report.experiment)?;
    for cell in &report.cells {
        let name = cell.name();
        if cell.handovers.is_empty() {
            return Err(format!("{name} has no handover"));
        }
        for it in &cell.handovers {
            let times = [Some(it.longest_us), Some(it.usual_us), it.gap_us];
            if let Some(us) =
                times.into_iter().flatten().find(|us| !(0.0..=LONGEST_US).contains(us))
            {
                return Err(format!("a time of {name} is {us} µs"));
            }
            if it.failed > it.requests {
                return Err(format!("{name} has more requests that failed than requests"));
            }
        }
    }
    once(report.cells.iter().map(GapCell::name))
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn report() -> Value {
        let cell = |client: &str, pool: &str, gap: Option<f64>| {
            let handover = json!({
                "gap_us": gap, "longest_us": 60e3, "usual_us": 35e3, "requests": 12, "failed": 0, "doubled": 0,
                "resumed": gap.map(|_| true), "early": (client == "follow-moved-key").then_some(true),
            });
            json!({ "client": client, "pool": pool, "rtt_ms": 33.0, "handovers": vec![handover; 20] })
        };
        json!({
            "experiment": "edge-gap", "date": "2026-11-26", "revision": "abc", "load": 0.1, "envoy": "1.40.0",
            "machine": { "cpu": "a processor", "cores": 2, "kernel": "Linux" },
            "versions": { "go": "go1.26", "curl-cffi": "0.17.0", "firefox": "Mozilla Firefox 153.7" },
            "cells": [
                cell("follow-moved-key", "tessera", Some(49.5e3)),
                cell("follow-ticket", "tessera", Some(82.5e3)),
                cell("follow-ticket", "envoy", Some(66e3)),
                cell("firefox", "tessera", Some(99e3)),
                cell("firefox", "envoy", Some(66e3)),
                cell("chromium", "tessera", None),
            ],
        })
    }

    /// A whole report.
    pub(in super::super) fn gap() -> Option<Gap> {
        Gap::of(Some(&report().to_string())).unwrap_or_else(|(_, what)| panic!("{what}"))
    }

    #[test]
    fn a_report_of_gaps_that_no_run_wrote_is_refused() {
        let refused = |at: &str, value: Value, words: &str| {
            let mut report = report();
            *report.pointer_mut(at).unwrap() = value;
            let (_, what) = Gap::of(Some(&report.to_string())).err().unwrap();
            assert!(what.contains(words), "{what}");
        };
        refused("/experiment", "edge".into(), "of the experiment `edge`");
        refused("/cells/0/handovers", json!([]), "no handover");
        refused("/cells/0/handovers/3/gap_us", json!(-1.0), "is -1 µs");
        refused("/cells/0/handovers/0/failed", json!(13), "more requests that failed");
        refused("/cells/1/client", "follow-moved-key".into(), "occurs twice");
    }
}
