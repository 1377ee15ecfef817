//! The resident memory of the end that accepts N32-f: by itself, and for a connection that had one request and is idle.

use std::thread;
use std::time::Duration;

use serde_json::json;
use tessera_bench::numbers::{machine, median};

use crate::files::Files;
use crate::options::Options;
use crate::pair::Pair;
use crate::relay::ready;
use crate::setting::Way;
use crate::tls_client::IdleConnections;
use crate::{Failure, network_function};

/// Earlier connections, so that what they allocate is not attributed to idle ones.
const WARM_UP: usize = 20;
const KIB: f64 = 1024.0;
/// The limit of the process with no connection but its peer's.
const MOST_IDLE: f64 = 30.0 * KIB;
/// A connection.
const MOST_EACH: f64 = 40.0;
/// A connection, of Envoy's.
const MOST_OF_ENVOY: f64 = 0.5;

struct Row {
    way: Way,
    /// KiB.
    idle: Vec<f64>,
    /// KiB.
    each: Vec<f64>,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let (rounds, count) = (options.rounds(3), options.count(1_000));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (files, (_network_function, address)) = (Files::new(), network_function::start()?);
    let mut rows: Vec<Row> = Vec::new();
    for _ in 0..rounds {
        for way in options.ways() {
            let pair = Pair::start(way, options, &files, address)?;
            ready(&runtime, &pair)?;
            let idle = pair.resident_at_home()? as f64 / KIB;
            let open = |count| {
                let opened = runtime.block_on(IdleConnections::open(pair.n32f, count, &files));
                opened.map_err(|error| format!("{}: {error}\n{}", way.name(), pair.output()))
            };
            drop(open(WARM_UP)?);
            thread::sleep(Duration::from_millis(500));
            let before = pair.resident_at_home()?;
            let opened = open(count)?;
            // The ends may release memory a moment later.
            thread::sleep(Duration::from_secs(2));
            let grown = pair.resident_at_home()?.saturating_sub(before);
            let each = grown as f64 / KIB / count as f64;
            drop(opened);
            match rows.iter_mut().find(|row| row.way == way) {
                Some(row) => {
                    row.idle.push(idle);
                    row.each.push(each);
                }
                None => rows.push(Row { way, idle: vec![idle], each: vec![each] }),
            }
        }
    }
    finish(&rows, &format!("{rounds} rounds of {count} connections"), options.json)
}

fn finish(rows: &[Row], notes: &str, json: bool) -> Result<(), Failure> {
    let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
    let baseline = rows.iter().find(|row| row.way == Way::Envoy).map(|row| middle(&row.each));
    let of = |row: &Row| baseline.map(|baseline| middle(&row.each) / baseline);
    if json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "way": row.way.name(), "idle_kib": row.idle, "each_kib": row.each, "of_envoy": of(row),
                })
            })
            .collect();
        println!(
            "{:#}",
            json!({ "bench": "idle", "notes": notes, "machine": machine(), "rows": rows })
        );
    } else {
        println!("resident memory of the end that takes N32-f; {notes}; {}\n", machine());
        println!("| way | the process, MiB | a connection, KiB | of Envoy |\n|---|---|---|---|");
        for row in rows {
            let of = of(row).map_or(String::new(), |of| format!("{of:.2}"));
            let (idle, each) = (middle(&row.idle) / KIB, middle(&row.each));
            println!("| {} | {idle:.1} | {each:.1} | {of} |", row.way.name());
        }
    }
    let missed: Vec<_> = rows
        .iter()
        .filter(|row| row.way.is_ours())
        .filter(|row| {
            middle(&row.idle) > MOST_IDLE
                || middle(&row.each) > MOST_EACH
                || of(row).is_some_and(|of| of > MOST_OF_ENVOY)
        })
        .map(|row| row.way.name())
        .collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("aim missed: {missed:?}").into()) }
}
