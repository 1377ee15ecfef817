//! What both ends compute: connections in memory, each operation timed.

use tessera_link::LinkKind;
use tessera_observed::{Operation, OperationTime, TimedEnd};

use super::ends::{Ends, TimedEnds};
use super::report::{EndOperations, OperationSamples, Operations, RowName};
use super::stage::Plan;
use super::way::EdgeWay;
use crate::bench::{check, us};
use crate::certificates::Parties;
use crate::endpoint::Result;
use crate::in_memory::{FinishedConnection, connect};

/// Connections of a warm-up, as a share of a repetition: the first signature of a key takes longer than the others.
const WARM_UP: usize = 1;

impl TimedEnds {
    pub(super) fn new() -> Self {
        Self { client: TimedEnd::new(), server: TimedEnd::new() }
    }
}

/// Measures rows, a repetition of each in turns, so that a load of the machine affects all of them; calls `done` after each
/// repetition of a row.
pub(super) fn measure(
    names: &[RowName],
    parties: &Parties,
    timed: &TimedEnds,
    plan: Plan,
    done: impl Fn(),
) -> Result<Vec<Operations>> {
    let rows = names.iter().map(|name| RowInProgress::new(*name, parties, timed));
    let mut rows = rows.collect::<Result<Vec<_>>>()?;
    for number in 0..WARM_UP + plan.samples {
        for row in &mut rows {
            row.repeat(timed, plan.connections, number >= WARM_UP)?;
            if number >= WARM_UP {
                done();
            }
        }
    }
    Ok(rows.into_iter().map(RowInProgress::finished).collect())
}

/// A row while it is measured.
struct RowInProgress {
    name: RowName,
    ends: Ends,
    client: Tallies,
    server: Tallies,
}

impl RowInProgress {
    fn new(name: RowName, parties: &Parties, timed: &TimedEnds) -> Result<Self> {
        let ends = Ends::new(name.way, name.kx, parties, LinkKind::Loopback, Some(timed))?;
        Ok(Self { name, ends, client: Tallies::default(), server: Tallies::default() })
    }

    /// Connects this often.
    fn repeat(&mut self, timed: &TimedEnds, connections: usize, counts: bool) -> Result<()> {
        let [mut of_client, mut of_server] = [(); 2].map(|()| Sums::default());
        for _ in 0..connections {
            refill(&mut self.ends)?;
            timed.client.take();
            timed.server.take();
            let made = one(&mut self.ends)?;
            of_client.add(us(made.client.engine), &timed.client.take());
            of_server.add(us(made.server.engine), &timed.server.take());
        }
        if counts {
            self.client.add(&of_client, connections);
            self.server.add(&of_server, connections);
        }
        Ok(())
    }

    fn finished(self) -> Operations {
        let Self { name, client, server, .. } = self;
        Operations { name, client: client.finished(), server: server.finished() }
    }
}

/// Gets more sessions, if none is left.
fn refill(ends: &mut Ends) -> Result<()> {
    if ends.way.resumes() && ends.sessions.is_empty() {
        let collector = (ends.collector.clone(), ends.first.clone());
        let made = connect(collector.0, collector.1, None, 1)?;
        ends.keep(made.sessions, &made.server.facts)?;
    }
    Ok(())
}

fn one(ends: &mut Ends) -> Result<FinishedConnection> {
    let session = ends.next_session()?;
    let made = connect(ends.client.clone(), ends.server.clone(), session, 1)?;
    check(ends.way.observed(ends.kx), &made.client.observed, &made.server.observed)?;
    Ok(made)
}

/// The connections of a repetition.
#[derive(Default)]
struct Sums {
    engine_us: f64,
    operations: [(u64, f64); Operation::ALL.len()],
}

impl Sums {
    fn add(&mut self, engine_us: f64, operations: &[OperationTime]) {
        self.engine_us += engine_us;
        for it in operations {
            let (count, us) = &mut self.operations[it.operation.index()];
            *count += it.count;
            *us += it.us;
        }
    }
}

/// The repetitions of one end.
#[derive(Default)]
struct Tallies {
    engine_us: Vec<f64>,
    operations: [(u64, Vec<f64>); Operation::ALL.len()],
}

impl Tallies {
    fn add(&mut self, of: &Sums, connections: usize) {
        let of_each = |sum: f64| sum / connections as f64;
        self.engine_us.push(of_each(of.engine_us));
        for ((count, us), (of_count, of_us)) in self.operations.iter_mut().zip(of.operations) {
            *count = of_count.div_ceil(connections as u64);
            us.push(of_each(of_us));
        }
    }

    fn finished(self) -> EndOperations {
        let operations = Operation::ALL.into_iter().zip(self.operations);
        let there = operations.filter(|(_, (count, _))| *count > 0);
        let operations = there
            .map(|(operation, (count, us))| OperationSamples { operation, count, us })
            .collect();
        EndOperations { engine_us: self.engine_us, operations }
    }
}

/// The ways whose operations differ.
pub(super) const WAYS: [EdgeWay; 4] =
    [EdgeWay::Full, EdgeWay::FullSigner, EdgeWay::Resumed, EdgeWay::ZeroRttFs];

#[cfg(test)]
mod tests {
    use tessera_reports::KeyExchange;

    use super::*;
    use crate::certificates::Certificates;

    #[test]
    fn only_full_handshakes_have_certificates_and_only_resumptions_open_tickets() {
        let certificates = Certificates::P256;
        let parties = Parties::new(certificates, 2).unwrap();
        let timed = TimedEnds::new();
        let plan = Plan { samples: 2, connections: 2 };
        let kx = KeyExchange::X25519;
        let names = WAYS.map(|way| RowName { way, kx, certificates });
        let rows = measure(&names, &parties, &timed, plan, || ()).unwrap();
        for Operations { name: RowName { way, .. }, client, server } in rows {
            let count = |end: &EndOperations, of| end.of(of).map_or(0, |operation| operation.count);
            let full = u64::from(!way.resumes());
            let counts = [
                count(&client, Operation::Verification),
                count(&client, Operation::ProofVerification),
                count(&server, Operation::Signature),
            ];
            assert_eq!(counts, [full; 3], "{way}");
            assert_eq!(count(&server, Operation::TicketOpening), 1 - full, "{way}");
            assert_eq!(count(&client, Operation::KeyGeneration), 1, "{way}");
            assert_eq!(count(&client, Operation::Decapsulation), 1, "{way}");
            // Each connection brings a ticket with a one-time key.
            let early = u64::from(way == EdgeWay::ZeroRttFs);
            assert_eq!(count(&server, Operation::OneTimeKeyGeneration).min(1), early, "{way}");
            assert_eq!(count(&server, Operation::VaultPut), early, "{way}");
            assert_eq!(client.engine_us.len(), 2);
            // The operations are within the calls of the engine.
            let all = client.sums(&Operation::ALL);
            assert!(all.iter().zip(&client.engine_us).all(|(sum, all)| sum <= all), "{way}");
        }
    }
}
