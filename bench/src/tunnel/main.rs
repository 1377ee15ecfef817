//! What `tessera tunnel` costs compared with stunnel and HAProxy: both ends of each, mutual TLS 1.3, resumption on, in
//! one run, the ways in turn.
//!
//! `tunnel-cost BENCH [OPTIONS]`; see README.md. It fails if an aim is missed.

mod backend;
mod bulk;
mod connections;
mod files;
mod haproxy;
mod idle;
mod load;
mod many;
mod options;
mod pgbench;
mod proxies;
mod report;
mod scene;
mod setting;
mod stunnel;
mod tessera;
mod ways;

use crate::options::{Bench, Options};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let options = Options::from_arguments(std::env::args().skip(1))?;
    let mut failures = Vec::new();
    for bench in &options.benches {
        let ran = match bench {
            Bench::Pgbench => pgbench::run(&options),
            Bench::Connections => connections::run(&options),
            Bench::Bulk => bulk::run(&options),
            Bench::Idle => idle::run(&options),
            Bench::Many => many::run(&options),
        };
        println!();
        failures.extend(ran.err().map(|failure| format!("{bench:?}: {failure}")));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ").into()) }
}
