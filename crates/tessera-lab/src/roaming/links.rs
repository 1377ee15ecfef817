//! Measuring over links: two processes, and the kernel's TCP between them.

use std::net::SocketAddr;
use std::time::Duration;

use tessera_link::LinkStatistics;
use tessera_reports::roaming::{Bytes, Cell, CellName, Lateness, LinkName, Operation, RoundTrips};
use tessera_reports::{Sample, Sides};

use super::engine::READY;
use super::grid;
use crate::bench::{Bench, Pair, SESSIONS_AT_ONCE, WARM_UP, check, us};
use crate::control::{ClientOrder, Preparation, ServerOrder};
use crate::error::LabError;
use crate::experiment::{Failures, seed_of};
use crate::statistics::{Median, median_count};
use crate::ways::Way;

/// Measures a cell; `done` is called after each reconnection. One-time keys are in the etcd at this address of
/// the server's end, if there is one.
pub(super) fn measure(
    bench: &mut Bench,
    name: &CellName,
    etcd: Option<SocketAddr>,
    repetitions: usize,
    seed: u64,
    done: impl Fn(),
) -> Result<Cell, LabError> {
    let mut round = 0;
    let mut pairs = Vec::with_capacity(repetitions);
    let mut failures = Failures::new(repetitions);
    let mut tickets = 0;
    let mut to_warm_up = WARM_UP;
    let mut settings = Vec::new();
    while pairs.len() < repetitions {
        if tickets == 0 {
            tickets = READY.min(repetitions - pairs.len() + to_warm_up);
            settings.extend((round > 0).then(|| bench.link.statistics()));
            prepare(bench, name, etcd, tickets)?;
            let seed = seed_of_round(seed_of(&name.key(), seed), round);
            bench.set_link(&grid::parameters(&name.link, seed))?;
            round += 1;
        }
        tickets -= 1;
        match reconnect(bench, name) {
            Ok(_) if to_warm_up > 0 => to_warm_up -= 1,
            Ok(pair) => {
                pairs.push(pair);
                done();
            }
            Err(error) => {
                if let Some(reason) = bench.link.failure() {
                    return Err(LabError::Connection(format!("the link failed: {reason}")));
                }
                failures.add(error.to_string())?;
                bench.restart()?;
                // Both processes are new, and cold.
                (tickets, to_warm_up) = (0, WARM_UP);
            }
        }
    }
    settings.push(bench.link.statistics());
    let samples = pairs.iter().map(Pair::sample).collect::<Result<Vec<_>, _>>()?;
    let (failed, why_failed) = failures.into_counts();
    Ok(Cell {
        name: name.clone(),
        failed,
        why_failed,
        round_trips: round_trips(&samples, &name.link),
        samples,
        bytes: Bytes {
            client: median_count(pairs.iter().map(|pair| pair.client.cost.sent as f64)),
            server: median_count(pairs.iter().map(|pair| pair.server.cost.sent as f64)),
            first_flight: median_count(pairs.iter().map(|pair| pair.client.first_flight as f64)),
        },
        operations: Sides::<Vec<Operation>>::default(),
        issuing: None,
        registration: None,
        beside: 0,
        lateness: lateness(&name.link, &settings),
    })
}

/// Starts over at both ends, and gets the client its tickets, over a link that costs no time.
fn prepare(
    bench: &mut Bench,
    name: &CellName,
    etcd: Option<SocketAddr>,
    tickets: usize,
) -> Result<(), LabError> {
    bench.set_link(&tessera_link::LinkParameters::default())?;
    let way = Way::of_variant(&name.variant);
    let suite = Some(name.variant.suite);
    let prepared =
        |identity| Preparation { suite, etcd, tickets: 0, ..Preparation::new(way, identity) };
    let (server, client) = (bench.pki.server.clone(), bench.pki.client.clone());
    bench.server.tell(&ServerOrder::Prepare(Box::new(prepared(server))))?;
    bench.server_is_ready()?;
    bench.client.tell(&ClientOrder::Prepare(Box::new(prepared(client))))?;
    bench.client_is_ready()?;
    if way.mode.resumes() {
        for _ in 0..tickets.div_ceil(SESSIONS_AT_ONCE.into()) {
            let (server, sessions) = (bench.address, SESSIONS_AT_ONCE);
            bench.connect(&ClientOrder::Collect { server, sessions })?;
        }
    }
    Ok(())
}

fn reconnect(bench: &mut Bench, name: &CellName) -> Result<Pair, LabError> {
    let pair = bench.connect(&ClientOrder::Connect(bench.address))?;
    check(Way::of_variant(&name.variant), &pair.client.observed, &pair.server.observed)?;
    Ok(pair)
}

pub(super) fn round_trips(samples: &[Sample], link: &LinkName) -> RoundTrips {
    let of = |value: fn(&Sample) -> Option<f64>| {
        let median = Median::of(samples.iter().filter_map(value))?;
        (link.rtt_ms > 0.0).then(|| median.value / 1e3 / link.rtt_ms)
    };
    RoundTrips { first_byte: of(|it| it.first_byte_us), response: of(|it| it.response_us) }
}

/// Returns how late packets left a link that was set once or more often; `None` without emulation, or if no packet left
/// it.
pub(super) fn lateness(link: &LinkName, settings: &[LinkStatistics]) -> Option<Lateness> {
    let directions = || settings.iter().flat_map(|it| [it.to_server, it.to_client]);
    let packets: u64 = directions().map(|it| it.delivered_packets).sum();
    let total: Duration = directions().map(|it| it.late_total).sum();
    let most_us = us(directions().map(|it| it.late_most).max()?);
    let mean_us = us(total) / packets as f64;
    (link.needs_emulation() && packets > 0).then_some(Lateness { packets, mean_us, most_us })
}

/// After a failure a cell continues with other random numbers: the link restarts from its seed, and would lose the same
/// packets.
fn seed_of_round(seed: u64, round: u64) -> u64 {
    // The golden ratio's odd fraction: no two rounds are the same, and the first is the seed itself.
    seed.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_cell_and_every_round_of_it_has_random_numbers_of_its_own() {
        let cells = grid::cells();
        let seeds = cells.iter().flat_map(|name| {
            let seed = seed_of(&name.key(), 7);
            (0..20).map(move |round| seed_of_round(seed, round))
        });
        assert_eq!(seeds.collect::<HashSet<_>>().len(), 20 * cells.len());
        assert_eq!(seed_of_round(7, 0), 7);
    }
}
