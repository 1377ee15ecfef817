//! Connections of peers that ended because they were idle: what they held until then and after it, and how the next
//! request of each comes back.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tessera_bench::numbers::{machine, median};

use crate::files::Files;
use crate::options::Options;
use crate::pair::Pair;
use crate::peers::{Answer, Peers};
use crate::relay::ready;
use crate::setting::{Comeback, Way};
use crate::{Failure, network_function};

/// The numbers of peers.
const COUNTS: [usize; 2] = [1_000, 10_000];
/// Earlier peers, so that what they allocate is not attributed to later ones.
const WARM_UP: usize = 20;
const KIB: f64 = 1024.0;
/// What may be resident when all have come back, in KiB for each. The allocator keeps what connections that ended gave
/// back, and the next ones get pages that were touched: up to the 49 KiB that a connection has on the heap. If the ended
/// ones still held theirs, it would be as much again.
const MOST_AGAIN: f64 = 50.0;

struct Row {
    comeback: Comeback,
    count: usize,
    /// KiB for each.
    open: f64,
    /// KiB for each.
    ended: f64,
    /// When all have come back, KiB for each.
    again: f64,
    first: Requests,
    next: Requests,
}

/// A request of each peer, one at a time.
struct Requests {
    /// Until the answer, µs.
    p50: f64,
    /// µs.
    p99: f64,
    /// Of the end that takes N32-f, µs for each.
    processor: f64,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if options.program.is_none() {
        return Err("--program names no tessera".into());
    }
    let (files, (_network_function, address)) = (Files::new(), network_function::start()?);
    let counts = options.only_count().map_or(COUNTS.to_vec(), |count| vec![count]);
    let mut rows = Vec::new();
    for count in counts {
        for comeback in [Comeback::Resumed, Comeback::Early] {
            // Long enough for all to open first.
            let idle = Duration::from_secs(20) + Duration::from_millis(6) * u32::try_from(count)?;
            let way = Way::SeppThatEnds { comeback, idle };
            let pair = Pair::start(way, options, &files, address)?;
            let measured = measure(&pair, comeback, count, idle, &files);
            rows.push(measured.map_err(|error| format!("{error}\n{}", pair.output()))?);
        }
    }
    finish(&rows, options.json)
}

fn measure(
    pair: &Pair,
    comeback: Comeback,
    count: usize,
    idle: Duration,
    files: &Files,
) -> Result<Row, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    ready(&runtime, pair)?;
    let earlier = Peers::new(WARM_UP, pair.n32f, files)?;
    requests(&runtime, pair, &earlier, |_| true)?;
    drop(earlier);
    thread::sleep(Duration::from_secs(1));
    let before = pair.resident_at_home()?;
    let held = || {
        let held = pair.resident_at_home()?.saturating_sub(before);
        Ok::<_, Failure>(held as f64 / KIB / count as f64)
    };
    let peers = Peers::new(count, pair.n32f, files)?;
    let first = requests(&runtime, pair, &peers, |answer| !answer.resumed)?;
    // The ends may release memory a moment later.
    let settle = || runtime.block_on(async { tokio::time::sleep(Duration::from_secs(2)).await });
    settle();
    let open = held()?;
    runtime.block_on(peers.have_ended(2 * idle))?;
    settle();
    let ended = held()?;
    let came_back = |answer: Answer| match comeback {
        Comeback::Resumed => answer.resumed,
        Comeback::Early => answer.was_early,
    };
    let next = requests(&runtime, pair, &peers, came_back)?;
    settle();
    let again = held()?;
    Ok(Row { comeback, count, open, ended, again, first, next })
}

/// Has each peer make a request, whose connection must be as expected.
fn requests(
    runtime: &tokio::runtime::Runtime,
    pair: &Pair,
    peers: &Peers,
    is_expected: impl Fn(Answer) -> bool,
) -> Result<Requests, Failure> {
    let before = pair.processor_time_at_home()?;
    let mut times = Vec::with_capacity(peers.len());
    for number in 0..peers.len() {
        let began = Instant::now();
        let answer = runtime.block_on(peers.ask(number))?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
        if !is_expected(answer) {
            return Err(format!("peer {number}: {answer:?}").into());
        }
    }
    let used = pair.processor_time_at_home()? - before;
    times.sort_by(f64::total_cmp);
    Ok(Requests {
        p50: median(&times).unwrap_or(f64::NAN),
        p99: times.get(times.len() * 99 / 100).copied().unwrap_or(f64::NAN),
        processor: used.as_secs_f64() * 1e6 / times.len() as f64,
    })
}

fn finish(rows: &[Row], json: bool) -> Result<(), Failure> {
    if json {
        let requests = |it: &Requests| json!({ "p50_us": it.p50, "p99_us": it.p99, "processor_us": it.processor });
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "comes_back": row.comeback.name(), "peers": row.count, "open_kib": row.open,
                    "ended_kib": row.ended, "again_kib": row.again, "first": requests(&row.first), "next": requests(&row.next),
                })
            })
            .collect();
        println!("{:#}", json!({ "bench": "ended", "machine": machine(), "rows": rows }));
    } else {
        println!("N32-f connections that `[limits] idle` ended; {}\n", machine());
        println!(
            "| comes back | peers | open, KiB each | after their end, KiB each | open again, KiB each | first request: p50, p99, processor time, µs | next request: p50, p99, processor time, µs |\n\
             |---|---|---|---|---|---|---|"
        );
        let requests = |it: &Requests| format!("{:.0}, {:.0}, {:.0}", it.p50, it.p99, it.processor);
        for row in rows {
            let (first, next) = (requests(&row.first), requests(&row.next));
            println!(
                "| {} | {} | {:.1} | {:.1} | {:.1} | {first} | {next} |",
                row.comeback.name(),
                row.count,
                row.open,
                row.ended,
                row.again,
            );
        }
    }
    let missed: Vec<_> = rows
        .iter()
        .filter(|row| row.again > MOST_AGAIN)
        .map(|row| format!("{}, {} peers", row.comeback.name(), row.count))
        .collect();
    if missed.is_empty() {
        Ok(())
    } else {
        Err(format!("connections that ended hold memory: {missed:?}").into())
    }
}
