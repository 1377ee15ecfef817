//! The report, which `tessera lab results --of edge` reads.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::handover::Handover;
use crate::kind::{Kind, PoolKind};

/// All of it.
pub(crate) struct Report {
    revision: Option<String>,
    load: f64,
    date: String,
    pub(crate) cells: Vec<Cell>,
}

/// The handovers of a kind of client.
pub(crate) struct Cell {
    kind: Kind,
    pool: PoolKind,
    rtt_ms: f64,
    pub(crate) handovers: Vec<Handover>,
}

impl Report {
    /// Notes the circumstances.
    pub(crate) fn begin(revision: Option<String>) -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or_default();
        Self { revision, load, date: line("date", &["-u", "+%Y-%m-%d"]), cells: Vec::new() }
    }

    /// Writes it.
    pub(crate) fn write(&self, file: &str) {
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let firefox = std::env::var("FIREFOX").unwrap_or_else(|_| "firefox-esr".to_owned());
        let envoy = line(&std::env::var("ENVOY").unwrap_or_default(), &["--version"]);
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpu.lines().find(|it| it.starts_with("model name"));
        let cpu = cpu.and_then(|it| it.split_once(": ")).map_or(std::env::consts::ARCH, |it| it.1);
        let version = "import curl_cffi; print(curl_cffi.__version__)";
        let report = json!({
            "experiment": "edge-gap",
            "date": self.date,
            "revision": self.revision,
            "load": self.load,
            "machine": {
                "cpu": cpu,
                "cores": std::thread::available_parallelism().map_or(1, usize::from),
                "kernel": line("uname", &["-sr"]),
            },
            // `PROGRAM  version: REVISION/1.40.0/...`.
            "envoy": envoy.split("version: ").nth(1).and_then(|it| it.split('/').nth(1)),
            "versions": {
                "go": line("go", &["env", "GOVERSION"]),
                "curl-cffi": line(&python, &["-c", version]),
                "curl": line("curl", &["--version"]).split(' ').nth(1),
                "firefox": line(&firefox, &["--version"]),
                "chromium": line("chromium", &["--version"]).split(" built").next(),
            },
            "cells": [],
        });
        // A line for each cell.
        let cells: Vec<_> = self.cells.iter().map(|it| format!("    {}", it.to_json())).collect();
        let cells = format!("\"cells\": [\n{}\n  ]", cells.join(",\n"));
        let text = format!("{report:#}\n").replace("\"cells\": []", &cells);
        std::fs::write(file, text).unwrap();
    }
}

impl Cell {
    pub(crate) fn new(kind: Kind, pool: PoolKind, rtt_ms: f64) -> Self {
        Self { kind, pool, rtt_ms, handovers: Vec::new() }
    }

    fn to_json(&self) -> Value {
        let micros = |time: Duration| time.as_micros();
        let handovers = self.handovers.iter().map(|it| {
            json!({
                "gap_us": it.gap.map(micros),
                "longest_us": micros(it.longest),
                "usual_us": micros(it.usual),
                "requests": it.requests,
                "failed": it.failed,
                "doubled": it.doubled,
                "resumed": it.resumed,
                "early": it.early,
            })
        });
        json!({
            "client": self.kind.name(),
            "pool": self.pool.name(),
            "rtt_ms": self.rtt_ms,
            "handovers": handovers.collect::<Vec<_>>(),
        })
    }
}

/// The progress.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = &self.handovers;
        let middle = |mut times: Vec<Duration>| {
            times.sort();
            times.get(times.len() / 2).map_or("none".to_owned(), |it| format!("{it:.1?}"))
        };
        let count = |is_it: fn(&Handover) -> bool| all.iter().filter(|it| is_it(it)).count();
        write!(
            f,
            "{:<16} {:<7} {:>2} ms: {:>2} handovers, gap {}, longest {}, usual {}; {} resumed, {} early, {} failed, {} doubled",
            self.kind.name(),
            self.pool.name(),
            self.rtt_ms,
            all.len(),
            middle(all.iter().filter_map(|it| it.gap).collect()),
            middle(all.iter().map(|it| it.longest).collect()),
            middle(all.iter().map(|it| it.usual).collect()),
            count(|it| it.resumed == Some(true)),
            count(|it| it.early == Some(true)),
            all.iter().map(|it| it.failed).sum::<usize>(),
            all.iter().map(|it| it.doubled).sum::<usize>(),
        )
    }
}

/// Returns what a program prints first.
fn line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|it| it.stdout).unwrap_or_default();
    // Envoy's first line is empty.
    let text = String::from_utf8_lossy(&text);
    text.lines().find(|it| !it.is_empty()).unwrap_or_default().trim().to_owned()
}
