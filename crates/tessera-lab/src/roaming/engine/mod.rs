//! Measures in memory, without distance: the time of the engine and its cryptography, without a kernel.

mod issuing;
mod operations;
mod typical;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::Checked;
use tessera::resume::ClientSession;
use tessera::{ClientConfig, ServerConfig};
use tessera_reports::Sample;
use tessera_reports::roaming::{Bytes, Cell, CellName, RoundTrips};

pub(super) use self::operations::Timers;
use crate::bench::{SESSIONS_AT_ONCE, check, us};
use crate::control::Preparation;
use crate::endpoint::{self, EtcdStore, Stores};
use crate::error::LabError;
use crate::experiment::Failures;
use crate::in_memory::{FinishedConnection, connect};
use crate::pki::Pki;
use crate::statistics::median_count;
use crate::ways::Way;

/// Reconnections before the first that counts.
const WARM_UP: usize = 10;

/// How often each of several cells has its turn. Other load of the machine changes within minutes, and by more than
/// cells differ; so it affects all cells that are measured together, but not those that an earlier run had finished.
const TURNS: usize = 10;

/// How many tickets are ready at once: fewer than any vault allows one client.
pub(super) const READY: usize = 600;

/// Measures cells, in turns; `done` is called after each reconnection. With each there is the etcd that holds its
/// one-time keys, if one does, or why there is none.
///
/// # Errors
/// The error is why a cell has no numbers.
pub(super) fn measure(
    cells: Vec<(&CellName, Result<Option<SocketAddr>, String>)>,
    pki: &Pki,
    timers: &Timers,
    repetitions: usize,
    done: impl Fn(),
) -> Vec<Result<Cell, String>> {
    let begun = cells.into_iter().map(|(name, etcd)| {
        let ends = Ends::new(name, pki, timers, etcd?).map_err(|error| error.to_string())?;
        Ok(Measurement::new(name, ends, repetitions))
    });
    let mut measurements: Vec<Result<Measurement<'_>, String>> = begun.collect();
    for turn in 1..=TURNS {
        for cell in &mut measurements {
            let Ok(measurement) = cell else { continue };
            if let Err(error) = measurement.reach(repetitions * turn / TURNS, &done) {
                *cell = Err(error.to_string());
            }
        }
    }
    let cells = measurements.into_iter();
    let finished = cells.map(|cell| cell?.finish(timers).map_err(|error| error.to_string()));
    finished.collect()
}

/// A cell that is being measured.
struct Measurement<'n> {
    name: &'n CellName,
    ends: Ends,
    repetitions: usize,
    tickets: VecDeque<ClientSession>,
    /// Connections that brought tickets, each with one like it that brought none.
    collected: Vec<[FinishedConnection; 2]>,
    made: Vec<FinishedConnection>,
    failures: Failures,
    to_warm_up: usize,
}

impl<'n> Measurement<'n> {
    fn new(name: &'n CellName, ends: Ends, repetitions: usize) -> Self {
        Self {
            name,
            ends,
            repetitions,
            tickets: VecDeque::new(),
            collected: Vec::new(),
            made: Vec::with_capacity(repetitions),
            failures: Failures::new(repetitions),
            to_warm_up: WARM_UP,
        }
    }

    /// Reconnects until there are this many samples.
    fn reach(&mut self, samples: usize, done: impl Fn()) -> Result<(), LabError> {
        let way = Way::of_variant(&self.name.variant);
        while self.made.len() < samples {
            if way.mode.resumes() && self.tickets.is_empty() {
                let wanted = READY.min(samples - self.made.len() + self.to_warm_up);
                let brought = self.ends.collect(wanted, &mut self.tickets).map_err(words)?;
                self.collected.extend(brought);
            }
            let reconnected = self.ends.reconnect(self.tickets.pop_front()).map_err(words);
            let checked = reconnected.and_then(|made| {
                check(way, &made.client.observed, &made.server.observed).map(|()| made)
            });
            match checked {
                Err(error) => self.failures.add(error.to_string())?,
                Ok(_) if self.to_warm_up > 0 => self.to_warm_up -= 1,
                Ok(made) => {
                    self.made.push(made);
                    done();
                }
            }
        }
        Ok(())
    }

    /// Measures what is separate from the samples, and returns the complete cell.
    fn finish(self, timers: &Timers) -> Result<Cell, LabError> {
        let Self { name, ends, made, collected, repetitions, .. } = self;
        let mode = name.variant.mode;
        let issuing = match mode.resumes() {
            true => Some(issuing::of_a_ticket(&collected)),
            false => None,
        };
        let operations = operations::of_a_reconnection(
            &ends,
            timers,
            Way::of_variant(&name.variant),
            repetitions,
        );
        let (failed, why_failed) = self.failures.into_counts();
        Ok(Cell {
            name: name.clone(),
            samples: made.iter().map(sample).collect(),
            failed,
            why_failed,
            round_trips: round_trips(&made),
            bytes: Bytes {
                client: median_count(made.iter().map(|made| made.client.sent as f64)),
                server: median_count(made.iter().map(|made| made.server.sent as f64)),
                first_flight: median_count(made.iter().map(|made| made.first_flight as f64)),
            },
            operations: operations.map_err(words)?,
            issuing,
            registration: None,
            beside: 0,
            lateness: None,
        })
    }
}

/// Both ends' configurations for a cell.
struct Ends {
    client: Checked<ClientConfig>,
    /// The same, and asks for as many tickets as a connection brings.
    collects: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    /// The same as [`client`](Self::client) and [`server`](Self::server), with each operation timed.
    timed: (Checked<ClientConfig>, Checked<ServerConfig>),
}

impl Ends {
    fn new(
        name: &CellName,
        pki: &Pki,
        timers: &Timers,
        etcd: Option<SocketAddr>,
    ) -> endpoint::Result<Self> {
        let (way, suite) = (Way::of_variant(&name.variant), Some(name.variant.suite));
        let prepared =
            |identity| Preparation { suite, tickets: 0, ..Preparation::new(way, identity) };
        let (client, server) = (prepared(pki.client.clone()), prepared(pki.server.clone()));
        let mut stores = Stores::new(false)?;
        if let Some(etcd) = etcd {
            stores = stores.with_vault(Arc::new(EtcdStore::open(etcd)?));
        }
        let timed_client = timers.client.client(endpoint::client_config(&client, 0)?);
        let timed_server = timers.server.server(endpoint::server_config(&server, &stores)?);
        Ok(Self {
            timed: (timed_client.checked()?, timed_server.checked()?),
            client: endpoint::client_configuration(&client, 0)?,
            collects: endpoint::client_configuration(&client, SESSIONS_AT_ONCE)?,
            server: endpoint::server_configuration(&server, &stores)?,
        })
    }

    /// Gets at least this many tickets, by full handshakes; returns these, each with one without tickets, made right
    /// after it: the difference is the cost of the tickets.
    fn collect(
        &self,
        wanted: usize,
        tickets: &mut VecDeque<ClientSession>,
    ) -> endpoint::Result<Vec<[FinishedConnection; 2]>> {
        let connections = (0..wanted.div_ceil(SESSIONS_AT_ONCE.into())).map(|_| {
            let (client, server) = (self.collects.clone(), self.server.clone());
            let mut with = connect(client, server, None, SESSIONS_AT_ONCE)?;
            tickets.append(&mut with.sessions);
            let without = connect(self.client.clone(), self.server.clone(), None, 0)?;
            Ok([with, without])
        });
        connections.collect()
    }

    /// Connects with a ticket, or without one as in a first connection, and gets no new ones.
    fn reconnect(&self, ticket: Option<ClientSession>) -> endpoint::Result<FinishedConnection> {
        connect(self.client.clone(), self.server.clone(), ticket, 0)
    }
}

fn sample(made: &FinishedConnection) -> Sample {
    let since_begin = |moment: Duration| Some(us(moment));
    Sample {
        send_us: since_begin(made.request),
        receive_us: Some(us(made.response.saturating_sub(made.arrived))),
        tcp_us: None,
        first_byte_us: since_begin(made.request),
        handshake_us: since_begin(made.handshake),
        response_us: since_begin(made.response),
        client_engine_us: Some(us(made.client.engine)),
        server_engine_us: Some(us(made.server.engine)),
        client_cpu_us: None,
        server_cpu_us: None,
    }
}

/// The last flight to the server is half a round trip; each answer is the other half.
fn round_trips(made: &[FinishedConnection]) -> RoundTrips {
    RoundTrips {
        first_byte: made.first().map(|made| f64::from(made.flights) - 0.5),
        response: made.first().map(|made| f64::from(made.answers)),
    }
}

fn words(error: Box<dyn std::error::Error>) -> LabError {
    LabError::Connection(error.to_string())
}

#[cfg(test)]
mod tests;
