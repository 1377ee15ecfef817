//! A request through both ends: processor time, rate and latency, with 1 and with 40 in flight.

use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::client::Client;
use crate::files::Files;
use crate::options::Options;
use crate::pair::Pair;
use crate::report::{Report, Turn};
use crate::setting::Way;
use crate::{Failure, envoy, network_function, rules, tls_client};

/// How many requests are in flight, over how many connections, and how many a turn has.
const LOADS: [Load; 2] = [
    Load { in_flight: 1, connections: 1, count: 5_000 },
    Load { in_flight: 40, connections: 4, count: 20_000 },
];
/// Requests that are not counted: pools fill, memory is allocated.
const WARM_UP: usize = 2_000;
/// How long an association may take to be established.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy)]
struct Load {
    in_flight: usize,
    connections: usize,
    count: usize,
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let rounds = options.rounds(5);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (files, (_network_function, address)) = (Files::new(), network_function::start()?);
    let pairs: Vec<Pair> = options
        .ways()
        .into_iter()
        .map(|way| Pair::start(way, options, &files, address))
        .collect::<Result<_, _>>()?;
    for pair in &pairs {
        ready(&runtime, pair)?;
        let checked = match pair.way {
            Way::Envoy => envoy::check_suite(pair.at_home),
            _ => runtime.block_on(tls_client::check_suite(pair.n32f, &files)),
        };
        checked.map_err(|error| format!("{}: {error}\n{}", pair.way.name(), pair.output()))?;
    }
    let mut report = Report::new(format!("{rounds} rounds"));
    for load in LOADS.into_iter().filter(|load| options.measures(load.in_flight)) {
        let load = Load { count: options.count(load.count), ..load };
        for pair in &pairs {
            runtime.block_on(turn(pair, Load { count: WARM_UP, ..load }))?;
        }
        for _ in 0..rounds {
            for pair in &pairs {
                report.add(pair.way, load.in_flight, runtime.block_on(turn(pair, load))?);
            }
        }
    }
    for pair in pairs.iter().filter(|pair| pair.way.is_ours()) {
        let [visited, home] = pair.configurations()?;
        report.rules(pair.way, rules::cost(&visited, &home)?);
    }
    report.finish(options.json)
}

/// Waits until a request passes: two SEPPs must agree on an association first.
pub(crate) fn ready(runtime: &Runtime, pair: &Pair) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let asked = runtime
            .block_on(async { Client::connect(pair.sbi, 1).await?.requests(1, 1).await.map(drop) });
        match asked {
            Ok(()) => return Ok(()),
            Err(error) if began.elapsed() > PATIENCE => {
                return Err(format!("{}: {error}\n{}", pair.way.name(), pair.output()).into());
            }
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

async fn turn(pair: &Pair, load: Load) -> Result<Turn, Failure> {
    let client = Client::connect(pair.sbi, load.connections).await?;
    let (before, began) = (pair.processor_time()?, Instant::now());
    let latencies = client
        .requests(load.count, load.in_flight)
        .await
        .map_err(|error| format!("{}: {error}", pair.way.name()))?;
    let (lasted, used) = (began.elapsed(), pair.processor_time()? - before);
    Ok(Turn::new(latencies, lasted, used))
}
