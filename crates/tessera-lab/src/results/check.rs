//! Rejects a report that no run of the lab writes, and names the cell at fault.

use std::collections::HashSet;

use tessera_reports::Variant;
use tessera_reports::load::Kind;
use tessera_reports::roaming::{Cell, CellName, LinkName};

use crate::components::{Components, HeldMemory, Memory};
use crate::experiment::limits::{CheckResult, round_trip, within};
use crate::load::report::{Cell as LoadCell, Report as Load};
use crate::roaming::report::Report as Roaming;
use crate::traffic::report::Report as Traffic;

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
    let of_cell = |cell: &Cell| {
        crate::roaming::finished::check_cell(cell)
            .map_err(|what| format!("{}: {what}", cell.name.key()))
    };
    report.cells.iter().try_for_each(of_cell)
}

fn link(link: &LinkName) -> CheckResult {
    round_trip(link.rtt_ms)?;
    within("the loss", link.loss, 0.0..=1.0)?;
    within("the burst of losses", link.loss_burst, 1.0..=1e6)?;
    within("the congestion", link.congestion, 0.0..=1e3)
}

pub(super) fn load(report: &Load) -> CheckResult {
    is_of("load", &report.experiment)?;
    let cell_name =
        |cell: &LoadCell| named(&cell.variant, cell.kind, cell.users, cell.round, cell.rtt_ms);
    let not_run = report
        .not_run
        .iter()
        .map(|it| named(&it.variant, it.kind, it.users, it.round.unwrap_or(1), it.rtt_ms));
    once(report.cells.iter().map(cell_name).chain(not_run))?;
    for cell in &report.cells {
        crate::load::finished::check_cell(cell)
            .map_err(|what| format!("{}: {what}", cell_name(cell)))?;
    }
    let memory_name = |it: &Memory| {
        let (connection, side) = (it.connection.name(), it.side.name());
        format!("memory/{connection}/{side}/{}", it.variant.key())
    };
    let of_row = |it| memory(it).map_err(|what| format!("{}: {what}", memory_name(it)));
    report.memory.iter().try_for_each(of_row)
}

/// Returns the key of a cell of `load`.
fn named(variant: &Variant, kind: Kind, users: usize, round: usize, rtt_ms: f64) -> String {
    let kind = match kind {
        Kind::Users => "users".to_owned(),
        Kind::Storm => format!("storm {round}"),
    };
    format!("{kind}/{users}/{rtt_ms}ms/{}", variant.key())
}

fn memory(row: &Memory) -> CheckResult {
    let made = HeldMemory { components: row.components, total: row.total };
    for (of, HeldMemory { components, total }) in
        [("all that was allocated", made), ("the most at once", row.peak), ("idle", row.held)]
    {
        let sum = sum(components);
        if sum != i128::from(total) {
            return Err(format!(
                "{of}: the components add up to {sum} bytes, but the total is {total}"
            ));
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
        crate::traffic::finished::check_flow(flow).map_err(|what| format!("flow {number}: {what}"))
    })
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
