//! Measures through proxies: two processes of `tessera sepp`, and network functions on both sides of them.

use std::net::SocketAddr;

use tessera_link::Link;
use tessera_reports::roaming::{Bytes, Cell, CellName, Operation, Registration};
use tessera_reports::{Sample, Sides};

use super::grid;
use super::links::{lateness, round_trips};
use crate::bench::WARM_UP;
use crate::error::LabError;
use crate::experiment::{Failures, seed_of};
use crate::sepp_pair::{SeppOption, SeppPair, SeppSample};
use crate::statistics::Median;

/// Measures a cell; `done` is called after each reconnection, which has a registration on it. One-time keys are in
/// the etcd at this address of the server's end, if there is one.
///
/// A sample has the time until the home network's function had the first request, the time until the visited network's
/// function had its answer, and the processor time of each SEPP until then. TCP and TLS are inside the SEPPs, whose
/// clocks are not read: the paper's two latencies and the times of the handshake are absent.
pub(super) fn measure(
    link: &Link,
    name: &CellName,
    etcd: Option<SocketAddr>,
    repetitions: usize,
    seed: u64,
    done: impl Fn(),
) -> Result<Cell, LabError> {
    let option = SeppOption::of(name.variant, etcd)?;
    let mut pair = SeppPair::start(link, &option)?;
    pair.set_link(&grid::parameters(&name.link, seed_of(&name.key(), seed)))?;
    let mut measured = Vec::with_capacity(repetitions);
    let mut failures = Failures::new(repetitions);
    // TCP knows nothing of the link.
    let mut to_warm_up = WARM_UP;
    while measured.len() < repetitions {
        match pair.reconnect() {
            Ok(_) if to_warm_up > 0 => to_warm_up -= 1,
            Ok(sample) => {
                measured.push(sample);
                done();
            }
            // The pair can continue.
            Err(LabError::Connection(reason)) => failures.add(reason)?,
            Err(error) => return Err(error),
        }
    }
    let memory = pair.memory()?;
    let samples: Vec<_> = measured.iter().map(sample).collect();
    let (failed, why_failed) = failures.into_counts();
    Ok(Cell {
        name: name.clone(),
        failed,
        why_failed,
        round_trips: round_trips(&samples, &name.link),
        samples,
        bytes: Bytes::default(),
        operations: Sides::<Vec<Operation>>::default(),
        issuing: None,
        registration: Some(Registration {
            samples_us: measured.iter().map(|sample| sample.registration_us).collect(),
            exchanges: SeppPair::EXCHANGES as u32,
            cpu_us: Sides {
                client: median(&measured, |sample| sample.visited.cpu_us),
                server: median(&measured, |sample| sample.home.cpu_us),
            },
            resident: Sides { client: memory.visited, server: memory.home },
        }),
        beside: 0,
        lateness: lateness(&name.link, &[link.statistics()]),
    })
}

fn sample(sample: &SeppSample) -> Sample {
    Sample {
        first_byte_us: Some(sample.first_request_us),
        response_us: Some(sample.first_response_us),
        client_cpu_us: Some(sample.visited.first_cpu_us),
        server_cpu_us: Some(sample.home.first_cpu_us),
        ..Sample::default()
    }
}

fn median(samples: &[SeppSample], value: impl Fn(&SeppSample) -> f64) -> f64 {
    Median::of(samples.iter().map(value)).map_or(0.0, |median| median.value)
}
