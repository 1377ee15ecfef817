//! Over links: the regions of the paper's Fig. 12, other distances, loss, congestion, and two SEPPs.

use tessera_reports::Variant;
use tessera_reports::roaming::{Cell as RoamingCell, LinkName, Registration, Setup};

use crate::names;
use crate::numbers::plain;
use crate::results::input::{Inputs, is_plain, variants};
use crate::results::numbers;
use crate::results::numbers::{FIRST_BYTE_MS, HANDSHAKE_MS, RESPONSE_MS, TCP_MS};
use crate::statistics::{Median, quantile};
use crate::table::{Cell, Table, cells};
use crate::topology;

pub(super) fn seoul_tokyo(inputs: &Inputs) -> Option<Table> {
    region(inputs, "seoul-tokyo")
}

pub(super) fn tokyo_los_angeles(inputs: &Inputs) -> Option<Table> {
    region(inputs, "tokyo-los-angeles")
}

pub(super) fn seoul_los_angeles(inputs: &Inputs) -> Option<Table> {
    region(inputs, "seoul-los-angeles")
}

/// One pair of cities; TCP and the delay of the link itself are separate.
fn region(inputs: &Inputs, name: &str) -> Option<Table> {
    let cells: Vec<_> =
        inputs.plain(Setup::Endpoints).filter(|cell| cell.name.link.name == name).collect();
    let rtt_ms = cells.first()?.name.link.rtt_ms;
    let mut table = Table::with_note(
        format!(
            "Medians in ms since before connect(), with their 95 % confidence intervals, at a round-trip time \
             of {} ms; two processes and the kernel's TCP. The link's time is what the option must wait for until \
             its first byte is accepted, known without measuring: a round trip of TCP, one of TLS where there is no \
             early data, and the half on which the request goes. What is beyond is the work of the ends and kernels, \
             and whatever else took time.",
            plain(rtt_ms)
        ),
        "option | n | failed | TCP | first byte accepted | of these the link | beyond | \
         handshake complete | response | response, longest",
    );
    for cell in cells {
        let first_byte = numbers::median(cell, FIRST_BYTE_MS).map(|median| median.value);
        let link = first_byte.map(|_| round_trips(&cell.name.variant) * rtt_ms);
        let beyond = first_byte.zip(link).map(|(all, link)| all - link);
        table.row(
            names::variant(&cell.name.variant),
            cells![
                cell.samples.len(),
                Cell::from(cell.failed).bad_if(cell.failed > 0),
                numbers::median(cell, TCP_MS),
                numbers::median(cell, FIRST_BYTE_MS),
                link,
                beyond,
                numbers::median(cell, HANDSHAKE_MS),
                numbers::median(cell, RESPONSE_MS),
                numbers::longest(cell, RESPONSE_MS),
            ],
        );
    }
    table.unless_empty()
}

/// Returns how many round trips pass until the server's application may have the first byte: TCP's, that of a handshake
/// before data, and half of one for the request itself.
fn round_trips(variant: &Variant) -> f64 {
    if variant.mode.has_early_data() { 1.5 } else { 2.5 }
}

/// Every distance.
pub(super) fn distance(inputs: &Inputs) -> Option<Table> {
    let cells: Vec<_> = inputs.plain(Setup::Endpoints).collect();
    let mut rtts: Vec<f64> = cells.iter().map(|cell| cell.name.link.rtt_ms).collect();
    rtts.sort_by(f64::total_cmp);
    rtts.dedup();
    let columns = rtts.iter().map(|rtt| format!("{} ms", plain(*rtt)));
    let mut table = Table::with_note(
        "Until the first byte of the request was accepted / until the response was there, at each round-trip \
         time: medians in ms since before connect().",
        "option",
    )
    .and(columns);
    for variant in variants(cells.iter().copied()) {
        let at = |rtt: &f64| {
            let here = |cell: &&&RoamingCell| {
                cell.name.link.rtt_ms == *rtt && cell.name.variant == variant
            };
            let cell = cells.iter().find(here)?;
            let [first, response] = [FIRST_BYTE_MS, RESPONSE_MS]
                .map(|field| numbers::short(numbers::median(cell, field).map(|it| it.value)));
            Some(format!("{first} / {response}"))
        };
        table.row(names::variant(&variant), rtts.iter().map(at));
    }
    table.unless_empty()
}

/// Loss between the cities, each packet by itself and in bursts.
pub(super) fn loss(inputs: &Inputs) -> Option<Table> {
    let name = |link: &LinkName| match (link.loss, link.loss_burst) {
        (0.0, _) => "no loss".to_owned(),
        (loss, 1.0) => format!("{} %", plain(loss * 100.0)),
        (loss, burst) => {
            format!("{} % in bursts of {}", plain(loss * 100.0), plain(burst))
        }
    };
    varied(inputs, "loss", |link| link.congestion == 0.0, name)
}

/// Congestion between the cities.
pub(super) fn congestion(inputs: &Inputs) -> Option<Table> {
    let name = |link: &LinkName| match link.congestion {
        0.0 => "none".to_owned(),
        share => format!("{} % of the RTT", plain(share * 100.0)),
    };
    varied(inputs, "congestion", |link| link.loss == 0.0, name)
}

/// The links between the cities that are of one family, side by side.
fn varied(
    inputs: &Inputs,
    what: &str,
    of_family: fn(&LinkName) -> bool,
    setting: fn(&LinkName) -> String,
) -> Option<Table> {
    let is_region =
        |link: &LinkName| topology::ROAMING.iter().any(|stretch| stretch.name == link.name);
    let cells: Vec<_> = inputs
        .usual(Setup::Endpoints)
        .filter(|cell| is_region(&cell.name.link) && of_family(&cell.name.link))
        .collect();
    if cells.iter().all(|cell| is_plain(cell)) {
        return None;
    }
    let mut settings: Vec<String> = Vec::new();
    for cell in &cells {
        let setting = setting(&cell.name.link);
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    let mut table = Table::with_note(
        format!(
            "Until the response was there, by {what}: the median and the longest in ms since before connect(), and \
             how many samples there are. Between the cities; the report has the other links too."
        ),
        "link, option",
    )
    .and(&settings);
    for stretch in &topology::ROAMING {
        for variant in variants(cells.iter().copied()) {
            let of_row = |cell: &&&RoamingCell| {
                cell.name.link.name == stretch.name && cell.name.variant == variant
            };
            let at = |wanted: &String| {
                let mut there = cells.iter().filter(of_row);
                let cell = there.find(|cell| setting(&cell.name.link) == *wanted)?;
                let median = numbers::median(cell, RESPONSE_MS).map(|median| median.value);
                let longest = numbers::longest(cell, RESPONSE_MS);
                let failed = if cell.failed > 0 {
                    format!(", {} failed", cell.failed)
                } else {
                    String::new()
                };
                let count = cell.samples.len();
                let text = format!(
                    "{}, {} ({count}{failed})",
                    numbers::short(median),
                    numbers::short(longest)
                );
                Some(Cell::from(text).bad_if(cell.failed > 0))
            };
            if cells.iter().any(|cell| of_row(&cell)) {
                table.row(
                    format!("{}: {}", stretch.name, names::variant(&variant)),
                    settings.iter().map(at),
                );
            }
        }
    }
    table.unless_empty()
}

/// Two SEPP processes, with network functions behind them.
pub(super) fn sepp(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Two processes of `tessera sepp` with network functions on both sides. Medians in ms with their 95 % \
         confidence intervals: the first response after the connection had gone, and a whole registration; \
         processor time of each SEPP for both, and its resident memory after the last. That time has the next \
         ticket in it: (a) issues none; (b), (c) and (e) issue one on each connection, (e) with a key of \
         X25519MLKEM768.",
        "link, option | n | failed | first response | first response, longest | registration | \
         registration, longest | client's SEPP, ms | server's SEPP, ms | client's SEPP, MB | \
         server's SEPP, MB",
    );
    for cell in inputs.cells(Setup::Sepp).filter(|cell| is_plain(cell)) {
        let registrations = || {
            let samples =
                cell.registration.iter().flat_map(|registration| &registration.samples_us);
            samples.map(|us| us / 1e3)
        };
        let cost = |of: fn(&Registration) -> f64| cell.registration.as_ref().map(of);
        table.row(
            format!("{}: {}", cell.name.link.name, names::full(&cell.name.variant)),
            cells![
                cell.samples.len(),
                Cell::from(cell.failed).bad_if(cell.failed > 0),
                numbers::median(cell, RESPONSE_MS),
                numbers::longest(cell, RESPONSE_MS),
                Median::of(registrations()),
                quantile(registrations(), 1.0),
                cost(|it| it.cpu_us.client / 1e3),
                cost(|it| it.cpu_us.server / 1e3),
                cost(|it| it.resident.client as f64 / 1e6),
                cost(|it| it.resident.server as f64 / 1e6),
            ],
        );
    }
    table.unless_empty()
}
