//! Parses the reports of the lab: `reconnect`, `roaming` and `load`.

mod check;
mod samples;

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tessera_reports::roaming::{Bytes, CellName, LinkName};
use tessera_reports::{LinkReport, Summary, Verdicts, load, reconnect, roaming};

use super::{Cell, Evidence, Letter, Link, Load, Machine, Protection, Setup, Source, Store, Way};

/// Why a text is not evidence: what is wrong, and at which member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceError(pub(super) String);

/// The common head of all reports.
#[derive(Deserialize)]
struct Head {
    experiment: String,
    seed: u64,
    machine: Machine,
    revision: Option<String>,
}

/// A report of `reconnect`, as far as advice uses it. Bytes are read as any number, so that an error names the cell.
#[derive(Deserialize)]
struct Reconnect {
    link: LinkReport,
    rows: Vec<reconnect::Row<f64>>,
}

/// The same of a report with cells.
#[derive(Deserialize)]
struct Report<C> {
    cells: Vec<C>,
}

/// A histogram as the lab writes it: times in microseconds and counts.
type Buckets = Vec<(f64, u64)>;

impl fmt::Display for EvidenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EvidenceError {}

impl Evidence {
    /// Reads a report of `tessera lab reconnect`, `roaming` or `load`, as JSON.
    ///
    /// # Errors
    /// If it is not JSON, not such a report, is incomplete, or has what no run writes: negative or excessive numbers,
    /// or duplicate cells.
    pub fn read(report: &str) -> Result<Self, EvidenceError> {
        let Head { experiment, seed, machine, revision } = parse(report)?;
        let name = experiment.clone();
        let source = Source { experiment: name, seed, machine, revision, protections_only: false };
        let mut evidence = Self { sources: vec![source], ..Self::default() };
        match experiment.as_str() {
            "reconnect" => evidence.add_reconnect(parse(report)?)?,
            "roaming" => evidence.add_roaming(parse(report)?)?,
            "load" => evidence.add_load(parse(report)?)?,
            other => {
                return Err(EvidenceError(format!(
                    "experiment: `{other}` is not evidence; reports of reconnect, roaming and load are"
                )));
            }
        }
        Ok(evidence)
    }

    /// Merges both. If both cover the same way, `other` counts.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let measured = |cell: &Cell| {
            other.cells.iter().any(|newer| (newer.way, newer.through) == (cell.way, cell.through))
        };
        self.cells.retain(|cell| !measured(cell));
        let tried = |protection: &Protection| {
            other.protections.iter().any(|newer| newer.way == protection.way)
        };
        self.protections.retain(|protection| !tried(protection));
        let loaded = |load: &Load| other.loads.iter().any(|newer| newer.way == load.way);
        self.loads.retain(|load| !loaded(load));
        self.sources.extend(other.sources);
        self.cells.extend(other.cells);
        self.protections.extend(other.protections);
        self.loads.extend(other.loads);
        self
    }

    fn add_reconnect(&mut self, Reconnect { link, rows }: Reconnect) -> Result<(), EvidenceError> {
        // `Link` can't represent jitter, a rate and the like, and advice uses no such rows.
        if !link.is_plain() {
            self.sources.clear();
            return Ok(());
        }
        // A row with TCP Fast Open is a separate way, which advice doesn't know.
        let plain = rows.into_iter().enumerate().filter(|(_, row)| row.fast_open.is_none());
        for (at, row) in plain {
            let way = Way {
                option: row.mode.letter(),
                kx: row.kx,
                ticket_key: row.ticket_key,
                continuation: row.continuation,
                store: Store::Memory,
            };
            let cell = Cell {
                way,
                suite: None,
                through: Setup::Endpoints,
                link: Link {
                    rtt_ms: row.rtt_ms,
                    loss: link.loss,
                    loss_burst: link.loss_burst,
                    congestion: link.congestion.unwrap_or_default(),
                },
                client_bytes: Some(row.bytes.client),
                server_bytes: Some(row.bytes.server),
                first_flight: Some(row.first_flight),
                issuing: None,
                // "Of a connection, request, response, one new ticket and close_notify included."
                with_issuing: true,
                ..samples::cell(way, &row.samples, 0)
            };
            check::cell(&format!("rows[{at}]"), &cell, &row.samples, &self.cells)?;
            self.cells.push(cell);
            let Verdicts { first_byte_fs, session_fs, replay_executions, pq_confidentiality } =
                row.verdicts;
            match self.protections.iter_mut().find(|protection| protection.way == way) {
                // The best attack at any round-trip time counts.
                Some(known) => {
                    known.first_byte = known.first_byte.max(first_byte_fs);
                    known.session = known.session.max(session_fs);
                    known.executions = known.executions.max(replay_executions);
                    known.post_quantum &= pq_confidentiality;
                }
                None => self.protections.push(Protection {
                    way,
                    first_byte: first_byte_fs,
                    session: session_fs,
                    executions: replay_executions,
                    post_quantum: pq_confidentiality,
                }),
            }
        }
        Ok(())
    }

    fn add_roaming(
        &mut self,
        Report { cells }: Report<roaming::Cell<f64>>,
    ) -> Result<(), EvidenceError> {
        for (at, cell) in cells.into_iter().enumerate() {
            let CellName { variant, through, link } = cell.name;
            let way = Way::from(variant);
            let measured = samples::cell(way, &cell.samples, cell.failed as usize);
            // In memory the lab measures wall-clock time, which includes waiting for etcd's disk: that of a take in the
            // samples of the engine, that of a put in the issuing. Neither is processor time.
            let waits = way.store == Store::Etcd;
            let in_memory = through == Setup::Engine;
            let Bytes { client, server, first_flight } = cell.bytes;
            let read = Cell {
                way,
                suite: Some(variant.suite.number().to_owned()),
                through,
                link: link.into(),
                client_bytes: client,
                server_bytes: server,
                first_flight,
                issuing: cell.issuing.filter(|_| !waits),
                // Its tickets are made beforehand, and issuing is measured separately.
                with_issuing: false,
                server_engine_us: measured.server_engine_us.filter(|_| !(waits && in_memory)),
                ..measured
            };
            check::cell(&format!("cells[{at}]"), &read, &cell.samples, &self.cells)?;
            self.cells.push(read);
        }
        Ok(())
    }

    fn add_load(
        &mut self,
        Report { cells }: Report<load::Cell<Buckets>>,
    ) -> Result<(), EvidenceError> {
        let mut loads: Vec<(String, Vec<load::Cell<Buckets>>)> = Vec::new();
        for (at, cell) in cells.into_iter().enumerate() {
            let place = format!("cells[{at}]");
            let reconnections = cell.reconnections as u64;
            check::load(&place, &load_of(&cell), reconnections, &cell.first_accepted_us, &[])?;
            match loads.iter_mut().find(|(_, rounds)| is_another_round(rounds, &cell)) {
                Some((_, rounds)) => rounds.push(cell),
                None => loads.push((place, vec![cell])),
            }
        }
        for (place, mut rounds) in loads {
            if rounds.iter().any(load::Cell::succeeded) {
                rounds.retain(load::Cell::succeeded);
            }
            let Some(first) = rounds.first() else { continue };
            let accepted_us = together(&rounds);
            let median = |number: fn(&load::Cell<Buckets>) -> f64| {
                Summary::of(rounds.iter().map(number)).map_or(0.0, |it| it.median)
            };
            let load = Load {
                failed: rounds.iter().map(|cell| cell.failed).max().unwrap_or_default(),
                first_accepted_us: quantile(&accepted_us, 1, 2),
                first_accepted_p99_us: quantile(&accepted_us, 99, 100),
                server_us: median(|cell| cell.server_cpu_us_per_connection),
                server_tls_us: median(|cell| cell.server_tls_us_per_connection),
                ..load_of(first)
            };
            let connections = (first.reconnections as u64).saturating_mul(rounds.len() as u64);
            check::load(&place, &load, connections, &accepted_us, &self.loads)?;
            self.loads.push(load);
        }
        Ok(())
    }
}

/// Returns what a cell of `load` shows, without the times.
fn load_of(cell: &load::Cell<Buckets>) -> Load {
    let way = Way::from(cell.variant);
    Load {
        way,
        suite: Some(cell.variant.suite.number().to_owned()),
        storm: cell.kind == load::Kind::Storm,
        users: cell.users,
        rtt_ms: cell.rtt_ms,
        failed: cell.failed,
        first_accepted_us: None,
        first_accepted_p99_us: None,
        server_us: cell.server_cpu_us_per_connection,
        server_tls_us: cell.server_tls_us_per_connection,
        tickets: cell.tickets,
        held_bytes: cell
            .vault_bytes
            .filter(|_| cell.tickets > 0 && way.option == Letter::E)
            .map(|bytes| bytes as f64 / cell.tickets as f64),
    }
}

/// Whether a cell is a storm like these, in a round that they lack.
fn is_another_round(rounds: &[load::Cell<Buckets>], cell: &load::Cell<Buckets>) -> bool {
    let name = |it: &load::Cell<Buckets>| (it.variant, it.kind, it.users, it.rtt_ms);
    cell.kind == load::Kind::Storm
        && rounds.iter().all(|other| name(other) == name(cell) && other.round != cell.round)
}

/// Returns the accepted requests of all rounds, in ascending order.
fn together(rounds: &[load::Cell<Buckets>]) -> Buckets {
    let mut all: Buckets =
        rounds.iter().flat_map(|cell| cell.first_accepted_us.iter().copied()).collect();
    all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    all.dedup_by(|(us, count), (kept, sum)| {
        let is_same = us == kept;
        if is_same {
            *sum = sum.saturating_add(*count);
        }
        is_same
    });
    all
}

impl From<LinkName> for Link {
    fn from(link: LinkName) -> Self {
        let LinkName { name: _, rtt_ms, loss, loss_burst, congestion } = link;
        Self { rtt_ms, loss, loss_burst, congestion }
    }
}

/// Parses JSON; an error names the member.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, EvidenceError> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        match path.as_str() {
            "." => EvidenceError(error.to_string()),
            _ => EvidenceError(format!("{path}: {error}")),
        }
    })
}

/// Returns the smallest bucket that this share of the samples, a fraction, doesn't exceed.
fn quantile(buckets: &Buckets, numerator: u64, denominator: u64) -> Option<f64> {
    let all: u128 = buckets.iter().map(|(_, count)| u128::from(*count)).sum();
    let wanted = (all * u128::from(numerator)).div_ceil(denominator.into()).max(1);
    let mut seen = 0;
    buckets.iter().find_map(|(bucket, count)| {
        seen += u128::from(*count);
        (seen >= wanted).then_some(*bucket)
    })
}

#[cfg(test)]
mod tests;
