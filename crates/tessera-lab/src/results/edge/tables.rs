//! The measurements of Tessera with itself, as tables.

use tessera_reports::KeyExchange;

use super::input::Inputs;
use crate::certificates::Certificates;
use crate::edge::EdgeWay;
use crate::edge::report::{Cell, Report, RowName, Sample};
use crate::edge::table::{self, median, place, share_of_full};
use crate::numbers::{count, fixed};
use crate::statistics::{Median, quantile};
use crate::table::{Name, Table, cells};
use crate::wired::LinkName;

/// The reports.
pub(super) fn setting(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "What was recorded, and the load of the machine in the minute before (1 is one busy processor of two).",
        "report | of | machine | revision | load | each sample",
    );
    if let Some(it) = &inputs.edge {
        let of = format!("tessera lab edge, {} connections", count(table::connections(it)));
        let each = format!("the mean of {} connections; over links of one", it.connections);
        let cells = cells![
            of,
            it.machine.to_string(),
            it.revision.clone(),
            it.load.map(|load| fixed(load, 2)),
            each
        ];
        table.row(Name::file("edge.json"), cells);
    }
    if let Some(it) = &inputs.boring {
        let of = format!("the crate boring {}, and Tessera", it.boring);
        let each = format!("the mean of {} calls", it.calls);
        let (machine, load) = (it.machine.to_string(), fixed(it.load, 2));
        table.row(
            Name::file("edge-boring.json"),
            cells![of, machine, it.revision.clone(), load, each],
        );
    }
    if let Some(it) = &inputs.envoy {
        let of = format!("{} with Envoy {}", it.go, it.envoy);
        let each = format!("the mean of {} connections", it.connections);
        let (machine, load) = (it.machine.to_string(), fixed(it.load, 2));
        table.row(
            Name::file("edge-envoy.json"),
            cells![of, machine, it.revision.clone(), load, each],
        );
    }
    if let Some(it) = &inputs.gap {
        it.setting(&mut table);
    }
    table.unless_empty()
}

/// The lengths of the certificates.
pub(super) fn chains(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "The proxy's certificates as DER, in bytes: its own, and its authority's. The root is not sent.",
        "keys | Tessera | Envoy",
    );
    let lengths =
        |chain: &Vec<usize>| chain.iter().map(usize::to_string).collect::<Vec<_>>().join(" + ");
    for keys in Certificates::ALL {
        let ours = inputs.edge.iter().flat_map(|report| &report.chains);
        let ours = ours.filter(|it| it.certificates == keys).map(|it| lengths(&it.server)).next();
        let envoy = inputs.envoy.iter().find_map(|report| report.chains.get(&keys)).map(lengths);
        if ours.is_some() || envoy.is_some() {
            table.row(keys.name(), cells![ours, envoy]);
        }
    }
    table.unless_empty()
}

/// Bytes by flight.
pub(super) fn bytes(inputs: &Inputs) -> Option<Table> {
    let report = inputs.edge.as_ref()?;
    let mut table = Table::with_note(
        "Tessera with itself over loopback: bytes of records, and of IP packets over a link of the same machine. \
         A retry's ClientHello is the first of two. \"Post-quantum\" is the engine's ancestry: whether all key exchanges \
         since the full handshake are safe against a quantum computer.",
        "keys, way, group | ClientHello | flight | tickets | both flights | of full | all of the client | IP+TCP | packets | \
         post-quantum",
    );
    for cell in inputs.cells().filter(|cell| cell.name.link.is_none()) {
        let of = |cell: Option<&Cell>, value: fn(&Sample) -> u64| {
            Some(fixed(median(cell?, |sample| value(sample) as f64)?.value, 0))
        };
        let own = Some(cell);
        let wired = watched(report, cell);
        let has_one = cell.name.way != EdgeWay::Retry;
        table.row(
            words(cell),
            cells![
                of(own, |sample| sample.hello),
                of(own, |sample| sample.of.server.handshake),
                of(own, Sample::tickets),
                of(own, Sample::flights).filter(|_| has_one),
                share_of_full(cell, report).map(|share| fixed(share, 3)),
                of(own, |sample| sample.of.client.handshake),
                of(wired, |sample| sample.of.ip_bytes()),
                of(wired, |sample| sample.of.client.packets + sample.of.server.packets),
                if cell.post_quantum { "yes" } else { "no" },
            ],
        );
    }
    table.unless_empty()
}

/// Returns the same over a link without losses.
fn watched<'r>(report: &'r Report, cell: &Cell) -> Option<&'r Cell> {
    report.cells.iter().find(|it| {
        let (one, other) = (&it.name, &cell.name);
        (one.way, one.kx, one.certificates) == (other.way, other.kx, other.certificates)
            && one.link.as_ref().is_some_and(|link| link.loss == 0.0)
    })
}

fn words(cell: &Cell) -> String {
    let name = &cell.name;
    format!("{}, {}, {}", name.certificates, name.way, name.kx.registered_name())
}

/// Returns the links of a report, in their order.
fn links_of(inputs: &Inputs) -> Vec<Option<LinkName>> {
    let mut links = Vec::new();
    for cell in inputs.cells() {
        if !links.contains(&cell.name.link) {
            links.push(cell.name.link.clone());
        }
    }
    links
}

/// Responses by link, with RSA.
pub(super) fn links(inputs: &Inputs) -> Option<Table> {
    let links = links_of(inputs);
    let places = links.iter().map(|link| place(link.as_ref()));
    let mut table = Table::with_note(
        "Milliseconds from connect() until the client has the proxy's message, Tessera with itself, RSA-2048: medians, and \
         how far they may be off (95 %).",
        "way, group",
    )
    .and(places);
    for way in EdgeWay::ALL {
        for kx in KeyExchange::ALL {
            let cell = |link: &Option<LinkName>| {
                inputs.cell_over(way, kx, Certificates::Rsa2048, link.as_ref())
            };
            if links.iter().any(|link| cell(link).is_some()) {
                let medians = links
                    .iter()
                    .map(|link| median(cell(link)?, |sample| sample.of.response_us / 1e3));
                table.row(format!("{way}, {}", kx.registered_name()), medians);
            }
        }
    }
    table.unless_empty()
}

/// All times.
pub(super) fn times(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Milliseconds from connect() until the client's handshake is complete, and until it has the proxy's message: \
         medians, and how far they may be off (95 %); and the response that 95 % of the samples don't exceed.",
        "link, keys, way, group | samples | handshake | response | 95 %",
    );
    for cell in inputs.cells() {
        let response = |sample: &Sample| sample.of.response_us / 1e3;
        let most = quantile(cell.samples.iter().map(response), 0.95);
        table.row(
            format!("{}, {}", place(cell.name.link.as_ref()), words(cell)),
            cells![
                cell.samples.len(),
                median(cell, |sample| sample.of.handshake_us / 1e3),
                median(cell, response),
                most.filter(|_| cell.samples.len() > 20),
            ],
        );
    }
    table.unless_empty()
}

/// The processor time of both engines.
pub(super) fn processor(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Processor time in calls of the engine for a connection over loopback, one after the other, in µs: medians, and how \
         far they may be off (95 %). The kernel's work for sockets is not in it.",
        "keys, way, group | client | proxy",
    );
    for cell in inputs.cells().filter(|cell| cell.name.link.is_none()) {
        let proxy = median(cell, |sample| sample.of.server_engine_us);
        let client = median(cell, |sample| sample.of.client_engine_us);
        table.row(words(cell), cells![client, proxy]);
    }
    table.unless_empty()
}

/// The proxy's processor time at a fixed rate, by certificates.
pub(super) fn rate(inputs: &Inputs) -> Option<Table> {
    let rates = &inputs.edge.as_ref()?.rates;
    let per_second = rates.first()?.per_second;
    let keys = Certificates::ALL.into_iter();
    let keys = keys.filter(|keys| rates.iter().any(|row| row.name.certificates == *keys));
    let keys: Vec<_> = keys.collect();
    let mut table = Table::with_note(
        format!(
            "Processor time of the proxy's thread for a connection over loopback, {per_second} a second, in µs: medians of \
             the repetitions' means, and how far they may be off (95 %)."
        ),
        "way, group",
    )
    .and(keys.iter().map(|keys| keys.name()));
    for way in EdgeWay::ALL {
        for kx in KeyExchange::ALL {
            let row = |certificates: &Certificates| {
                let name = RowName { way, kx, certificates: *certificates };
                rates.iter().find(|row| row.name == name)
            };
            if keys.iter().any(|keys| row(keys).is_some()) {
                let medians =
                    keys.iter().map(|keys| Median::of(row(keys)?.server_cpu_us.iter().copied()));
                table.row(format!("{way}, {}", kx.registered_name()), medians);
            }
        }
    }
    table.unless_empty()
}

/// All rows at a fixed rate.
pub(super) fn rates(inputs: &Inputs) -> Option<Table> {
    let report = inputs.edge.as_ref()?;
    let mut table = Table::with_note(
        "Processor time of the proxy for a connection over loopback, at a fixed rate, in µs: medians of the repetitions' \
         means, and how far they may be off (95 %). \"Proxy\" is the thread of the connection, from accept() on, with the \
         kernel's work in its calls; \"engine\" its calls of the engine; \"held\" how many connections a second there were.",
        "keys, way, group | a second | held | proxy | engine | of a processor",
    );
    for row in &report.rates {
        table.row(row_words(row.name), table::rate(row).cells);
    }
    table.unless_empty()
}

/// Moves while the ring rotates.
pub(super) fn rotation(inputs: &Inputs) -> Option<Table> {
    let report = inputs.edge.as_ref()?;
    let mut table = Table::with_note(
        "Moves to a proxy with a ticket of another, in memory, while the ring of both rotates as fast as both acknowledge \
         each key, with 10 ms between: what the second proxy made of the ticket.",
        "keys, way, group | rotations | moves | resumed | full | failed | share resumed | moves a second",
    );
    for row in &report.rotations {
        table.row(row_words(row.name), table::rotation(row).cells);
    }
    table.unless_empty()
}

fn row_words(name: RowName) -> String {
    format!("{}, {}, {}", name.certificates, name.way, name.kx.registered_name())
}

/// Connections that failed and were repeated.
pub(super) fn failed(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Connections that failed, by reason: they have no samples. No row: none failed.",
        "cell, reason | connections",
    );
    for cell in inputs.cells() {
        for (reason, count) in &cell.why_failed {
            table.row(format!("{}: {reason}", cell.name.key()), [*count]);
        }
    }
    for row in inputs.edge.iter().flat_map(|report| &report.rates) {
        for (reason, count) in &row.why_failed {
            table.row(format!("{}: {reason}", row.key()), [*count]);
        }
    }
    for row in inputs.edge.iter().flat_map(|report| &report.rotations) {
        for (reason, count) in &row.why_failed {
            table.row(format!("{}: {reason}", row.key()), [*count]);
        }
    }
    inputs.edge.is_some().then_some(table)
}
