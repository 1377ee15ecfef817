//! Rejects a report that no run of the lab writes, and names the cell at fault.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use crate::components::{Components, HeldMemory, Memory};
use crate::load::Kind;
use crate::load::report::{Cell as LoadCell, Report as Load};
use crate::registration::LOCAL_BREAKOUT;
use crate::roaming::report::{Cell, CellName, LinkName, Report as Roaming, Sample, Setup};
use crate::traffic::report::{Flow, Report as Traffic};
use crate::variants::Variant;

/// No measured time is as long: connections have deadlines of minutes.
const HOUR_US: f64 = 3_600e6;
const HOUR_MS: f64 = HOUR_US / 1e3;
/// More connections than a load has ports for, many times over.
const MOST_CONNECTIONS: usize = 10_000_000;
/// More than a TLS record with its header has (RFC 8446 §5.2).
const MOST_OF_A_RECORD: u64 = 1 << 16;

/// Nothing, or a description of what is wrong.
pub(super) type CheckResult = Result<(), String>;

pub(super) fn roaming(report: &Roaming) -> CheckResult {
    is_of("roaming", &report.experiment)?;
    let names = || {
        let not_run = report.not_run.iter().map(|it| &it.name);
        report.cells.iter().map(|cell| &cell.name).chain(not_run)
    };
    once(names().map(CellName::key))?;
    for name in names() {
        link(&name.link).map_err(|what| format!("{}: {what}", name.key()))?;
    }
    let of_cell =
        |cell: &Cell| roaming_cell(cell).map_err(|what| format!("{}: {what}", cell.name.key()));
    report.cells.iter().try_for_each(of_cell)
}

fn roaming_cell(cell: &Cell) -> CheckResult {
    if cell.samples.is_empty() {
        return Err("it has no sample".to_owned());
    }
    cell.samples.iter().flat_map(times).try_for_each(|us| time("a sample", us))?;
    reasons(cell.failed.into(), cell.why_failed.values().map(|count| (*count).into()))?;
    if cell.name.through == Setup::Engine {
        flights(cell.round_trips.first_byte, cell.round_trips.response)?;
    }
    for operation in cell.operations.client.iter().chain(&cell.operations.server) {
        time("an operation", operation.us)?;
        within("the count of an operation", operation.count, 0.0..=1e6)?;
    }
    if let Some(issuing) = cell.issuing {
        // Differences, which may be below 0.
        time("the issuing of a ticket", issuing.server_us.abs().max(issuing.client_us.abs()))?;
    }
    let Some(registration) = &cell.registration else { return Ok(()) };
    let cpu = [registration.cpu_us.client, registration.cpu_us.server];
    let mut times = registration.samples_us.iter().copied().chain(cpu);
    times.try_for_each(|us| time("a registration", us))
}

/// Returns all times of a sample that are there.
fn times(sample: &Sample) -> impl Iterator<Item = f64> + use<> {
    let Sample { send_us, receive_us, tcp_us, first_byte_us, handshake_us, .. } = *sample;
    let Sample { response_us, client_engine_us, server_engine_us, .. } = *sample;
    let Sample { client_cpu_us, server_cpu_us, .. } = *sample;
    let moments = [send_us, receive_us, tcp_us, first_byte_us, handshake_us, response_us];
    let work = [client_engine_us, server_engine_us, client_cpu_us, server_cpu_us];
    moments.into_iter().chain(work).flatten()
}

/// In memory flights are counted, half a round trip each: the response comes right after the request, which goes first,
/// after the server's flight, or after a HelloRetryRequest besides.
fn flights(first_byte: Option<f64>, response: Option<f64>) -> CheckResult {
    match (first_byte, response) {
        (Some(first), Some(all)) if [0.5, 1.5, 2.5].contains(&first) && all == first + 0.5 => {
            Ok(())
        }
        _ => Err(format!(
            "no handshake in memory has the round trips {first_byte:?} and {response:?}"
        )),
    }
}

fn link(link: &LinkName) -> CheckResult {
    round_trip(link.rtt_ms)?;
    within("the loss", link.loss, 0.0..=1.0)?;
    within("the burst of losses", link.loss_burst, 1.0..=1e6)?;
    within("the congestion", link.congestion, 0.0..=1e3)
}

pub(super) fn load(report: &Load) -> CheckResult {
    is_of("load", &report.experiment)?;
    let cell_name = |cell: &LoadCell| named(&cell.variant, cell.kind, cell.users, cell.rtt_ms);
    let not_run = report.not_run.iter().map(|it| named(&it.variant, it.kind, it.users, it.rtt_ms));
    once(report.cells.iter().map(cell_name).chain(not_run))?;
    for cell in &report.cells {
        load_cell(cell).map_err(|what| format!("{}: {what}", cell_name(cell)))?;
    }
    let memory_name = |it: &Memory| {
        let (connection, side) = (it.connection.name(), it.side.name());
        format!("memory/{connection}/{side}/{}", it.variant.key())
    };
    let of_row = |it| memory(it).map_err(|what| format!("{}: {what}", memory_name(it)));
    report.memory.iter().try_for_each(of_row)
}

/// Returns the key of a cell of `load`.
fn named(variant: &Variant, kind: Kind, users: usize, rtt_ms: f64) -> String {
    let kind = match kind {
        Kind::Users => "users",
        Kind::Storm => "storm",
    };
    format!("{kind}/{users}/{rtt_ms}ms/{}", variant.key())
}

fn load_cell(cell: &LoadCell) -> CheckResult {
    round_trip(cell.rtt_ms)?;
    let connections = cell.users.checked_mul(cell.reconnections);
    let Some(asked) = connections.filter(|count| (1..=MOST_CONNECTIONS).contains(count)) else {
        let (users, each) = (cell.users, cell.reconnections);
        return Err(format!("{users} users with {each} reconnections each are no load"));
    };
    let asked = asked as u64;
    let Some(succeeded) = asked.checked_sub(cell.failed) else {
        return Err(format!("{} of {asked} reconnections failed", cell.failed));
    };
    reasons(cell.failed, cell.why_failed.values().copied())?;
    let (registrations, exchanges) = match cell.kind {
        Kind::Users => (succeeded, LOCAL_BREAKOUT.len() as u64),
        Kind::Storm => (0, 1),
    };
    // Connections that failed may have got this far.
    counted("requests accepted", cell.first_accepted_us.count(), succeeded..=asked)?;
    counted("requests", cell.requests, succeeded * exchanges..=asked * exchanges)?;
    counted("responses", cell.response_us.count(), succeeded..=succeeded)?;
    counted("registrations", cell.registration_us.count(), registrations..=registrations)?;
    if cell.seconds <= 0.0 {
        return Err(format!("it took {} s", cell.seconds));
    }
    let longest = [&cell.first_accepted_us, &cell.response_us, &cell.registration_us]
        .map(|it| it.quantile(1.0));
    let mut times = longest.into_iter().flatten().chain([
        cell.seconds * 1e6,
        cell.server_cpu_us_per_connection,
        cell.server_tls_us_per_connection,
        cell.client_cpu_us_per_connection,
    ]);
    times.try_for_each(|us| time("something of it", us))
}

fn memory(row: &Memory) -> CheckResult {
    let made = HeldMemory { components: row.components, total: row.total };
    for (of, HeldMemory { components, total }) in
        [("all that was allocated", made), ("the most at once", row.peak), ("idle", row.held)]
    {
        let sum = sum(components);
        if sum != i128::from(total) {
            return Err(format!("{of}: the components have {sum} bytes, and the total {total}"));
        }
    }
    Ok(())
}

fn sum(components: Components) -> i128 {
    let Components { certificates, key_exchange, signature, .. } = components;
    let Components { tickets_and_replay_state, buffers, rest, .. } = components;
    let all = [certificates, key_exchange, signature, tickets_and_replay_state, buffers, rest];
    all.map(i128::from).iter().sum()
}

pub(super) fn traffic(report: &Traffic) -> CheckResult {
    is_of("traffic", &report.experiment)?;
    let mut flows = report.flows.iter().zip(1..);
    flows.try_for_each(|(flow, number)| {
        traffic_flow(flow).map_err(|what| format!("flow {number}: {what}"))
    })
}

fn traffic_flow(flow: &Flow) -> CheckResult {
    round_trip(flow.rtt_ms)?;
    let records = &flow.sizes_and_times;
    if records.is_empty() {
        return Err("it has no record".to_owned());
    }
    for (size, us) in records {
        if !(1..=MOST_OF_A_RECORD).contains(&size.unsigned_abs()) {
            return Err(format!("no record has {size} bytes"));
        }
        time("a record", *us as f64)?;
    }
    if !records.is_sorted_by_key(|(_, us)| us) {
        return Err("its records are not in the order in which they came".to_owned());
    }
    match flow.plaintext.iter().find(|place| **place >= records.len()) {
        Some(place) => Err(format!("there is no record {place}")),
        None => Ok(()),
    }
}

fn is_of(expected: &str, experiment: &str) -> CheckResult {
    if experiment == expected {
        return Ok(());
    }
    Err(format!("it is of the experiment `{experiment}`, not of `{expected}`"))
}

/// A report has each cell once.
fn once(mut names: impl Iterator<Item = String>) -> CheckResult {
    let mut seen = HashSet::new();
    match names.find(|name| !seen.insert(name.clone())) {
        Some(name) => Err(format!("{name} occurs twice")),
        None => Ok(()),
    }
}

/// Each that failed has one reason.
fn reasons(failed: u64, counts: impl Iterator<Item = u64>) -> CheckResult {
    let sum: u128 = counts.map(u128::from).sum();
    if sum == u128::from(failed) {
        return Ok(());
    }
    Err(format!("{failed} reconnections failed, and there are reasons for {sum}"))
}

fn counted(what: &str, count: u64, possible: RangeInclusive<u64>) -> CheckResult {
    if possible.contains(&count) {
        return Ok(());
    }
    let (least, most) = (possible.start(), possible.end());
    Err(format!("{count} {what}; by what was asked and failed there are {least} to {most}"))
}

fn time(what: &str, us: f64) -> CheckResult {
    if (0.0..=HOUR_US).contains(&us) {
        return Ok(());
    }
    Err(format!("{what} took {us} µs"))
}

fn round_trip(ms: f64) -> CheckResult {
    within("the round-trip time in ms", ms, 0.0..=HOUR_MS)
}

fn within(what: &str, value: f64, possible: RangeInclusive<f64>) -> CheckResult {
    if possible.contains(&value) {
        return Ok(());
    }
    let (least, most) = (possible.start(), possible.end());
    Err(format!("{what} is {value}, and must be from {least} to {most}"))
}
