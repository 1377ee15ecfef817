//! The operations of a handshake (the paper's Fig. 2), in BoringSSL through the crate `boring` and in Tessera's provider,
//! in turns: other load of the machine affects both alike.
//!
//!     edge-boring --json FILE [--repetitions N] [--calls N]
//!
//! The report has the mean of the calls of each repetition, in microseconds. `tessera lab results --of edge` reads it.
#![forbid(unsafe_code)]

mod boringssl;
mod certificates;
mod provider;

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::json;

use certificates::{Keys, Server};

/// An operation of a library: makes this many calls, and returns how long they took.
pub struct Operation {
    name: String,
    library: &'static str,
    run: Box<dyn Fn(usize) -> Duration>,
}

impl Operation {
    /// Creates one of calls that each consume an input, which is prepared beforehand.
    pub fn of<I, O>(
        name: impl Into<String>,
        library: &'static str,
        prepare: impl Fn() -> I + 'static,
        call: impl Fn(I) -> O + 'static,
    ) -> Self {
        let run = move |calls: usize| {
            let inputs: Vec<I> = (0..calls).map(|_| prepare()).collect();
            let started = Instant::now();
            for input in inputs {
                black_box(call(input));
            }
            started.elapsed()
        };
        Self { name: name.into(), library, run: Box::new(run) }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut file, mut repetitions, mut calls) = (None, 35, 100);
    let mut arguments = env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} lacks its value"))?;
        match name.as_str() {
            "--json" => file = Some(value),
            "--repetitions" => repetitions = value.parse()?,
            "--calls" => calls = value.parse()?,
            _ => {
                return Err(
                    format!("{name}: the options are --json, --repetitions and --calls").into()
                );
            }
        }
    }
    let file = file.ok_or("--json names the report's file")?;
    let load = fs::read_to_string("/proc/loadavg")?;
    let load: f64 = load.split(' ').next().unwrap_or_default().parse()?;
    let mut operations = boringssl::key_exchange()?;
    operations.extend(provider::key_exchange());
    for keys in Keys::ALL {
        let server = Server::new(keys)?;
        operations.extend(boringssl::certificates(&server)?);
        operations.extend(provider::certificates(&server)?);
    }
    operations.extend(boringssl::tickets()?);
    operations.extend(provider::tickets()?);

    let mut us = vec![Vec::with_capacity(repetitions); operations.len()];
    // The first is the warm-up.
    for repetition in 0..=repetitions {
        for (operation, us) in operations.iter().zip(&mut us) {
            let took = (operation.run)(calls);
            if repetition > 0 {
                us.push(took.as_nanos() as f64 / 1e3 / calls as f64);
            }
        }
    }
    let rows = operations.iter().zip(us).map(|(operation, us)| {
        json!({ "operation": operation.name, "library": operation.library, "us": us })
    });
    let report = json!({
        "experiment": "edge-boring",
        "boring": version(),
        "revision": option_env!("TESSERA_REVISION"),
        "machine": machine()?,
        "load": load,
        "calls": calls,
        "operations": rows.collect::<Vec<_>>(),
    });
    fs::write(&file, lines(&report)?)?;
    Ok(())
}

/// Returns the version of the crate `boring`, of Cargo.lock.
fn version() -> Option<&'static str> {
    let (_, rest) = include_str!("../Cargo.lock").split_once("name = \"boring\"\nversion = \"")?;
    rest.split('"').next()
}

fn machine() -> Result<serde_json::Value, Box<dyn Error>> {
    let info = fs::read_to_string("/proc/cpuinfo")?;
    let cpu = info.lines().find(|line| line.starts_with("model name"));
    let cpu = cpu
        .and_then(|line| line.split_once(':'))
        .map_or(env::consts::ARCH, |(_, name)| name.trim());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let cores = thread::available_parallelism()?.get();
    Ok(json!({ "cpu": cpu, "cores": cores, "kernel": format!("Linux {}", kernel.trim()) }))
}

/// Returns the report with a line for each operation.
fn lines(report: &serde_json::Value) -> Result<String, Box<dyn Error>> {
    let fields = report.as_object().ok_or("a report is an object")?;
    let fields = fields.iter().map(|(name, value)| {
        let value = match value.as_array() {
            Some(rows) => {
                let rows: Vec<_> = rows.iter().map(|row| format!("    {row}")).collect();
                format!("[\n{}\n  ]", rows.join(",\n"))
            }
            None => value.to_string(),
        };
        format!("  \"{name}\": {value}")
    });
    Ok(format!("{{\n{}\n}}\n", fields.collect::<Vec<_>>().join(",\n")))
}
