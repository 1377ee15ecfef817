//! A proxy that gets connections at a fixed rate, over loopback: the processor time of its threads, one for each connection.

use std::thread;
use std::time::{Duration, Instant};

use tessera_link::{Link, LinkKind, LinkParameters};

use super::ends::Ends;
use super::report::{Rate, RowName};
use super::stage::{self, Connection, Plan, WARM_UP, failed};
use crate::bench::us;
use crate::certificates::Parties;
use crate::error::LabError;
use crate::experiment::Failures;
use crate::wired::WiredPair;

/// Measures rows with this many connections a second, a repetition of each in turns; calls `done` after each repetition of a
/// row that counts.
pub(super) fn measure(
    names: &[RowName],
    parties: &Parties,
    plan: Plan,
    per_second: u32,
    done: impl Fn(),
) -> Result<Vec<Rate>, LabError> {
    let rows = names.iter().map(|name| RowInProgress::new(*name, parties, plan));
    let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
    for number in 0..WARM_UP + plan.samples {
        for row in &mut rows {
            let repetition = row.repeat(plan.connections, per_second)?;
            if number >= WARM_UP {
                row.counted.push(repetition);
                done();
            }
        }
    }
    Ok(rows.into_iter().map(|row| row.finished(per_second)).collect())
}

/// A row while it is measured.
struct RowInProgress {
    name: RowName,
    wired: WiredPair,
    ends: Ends,
    failures: Failures,
    counted: Vec<Repetition>,
}

/// Some connections one after the other.
struct Repetition {
    /// Means of those that didn't fail, in microseconds.
    cpu_us: f64,
    engine_us: f64,
    /// All, and how long they took.
    began: u32,
    took: Duration,
}

impl RowInProgress {
    /// Connects both ends, and gives the client its tickets.
    fn new(name: RowName, parties: &Parties, plan: Plan) -> Result<Self, LabError> {
        let kind = LinkKind::Loopback;
        let mut wired = WiredPair::new(Link::open(kind, &LinkParameters::default())?)?;
        let mut ends = Ends::new(name.way, name.kx, parties, kind, None).map_err(failed)?;
        stage::collect(&mut wired, &mut ends, plan.tickets())?;
        let failures = Failures::new(plan.samples * plan.connections);
        Ok(Self { name, wired, ends, failures, counted: Vec::with_capacity(plan.samples) })
    }

    /// Makes this many connections that don't fail.
    fn repeat(&mut self, connections: usize, per_second: u32) -> Result<Repetition, LabError> {
        let mut pace = Pace::new(Duration::from_secs(1) / per_second.max(1));
        let begun = pace.next;
        let mut made = Vec::with_capacity(connections);
        let mut began = 0;
        while made.len() < connections {
            match stage::connection(&mut self.wired, &mut self.ends) {
                Ok(connection) => made.push(connection),
                Err(error) => self.failures.add(error.to_string())?,
            }
            began += 1;
            pace.wait();
        }
        let mean = |value: fn(&Connection) -> f64| {
            made.iter().map(value).sum::<f64>() / connections as f64
        };
        Ok(Repetition {
            cpu_us: mean(|it| us(it.server_cpu)),
            engine_us: mean(|it| it.sample.of.server_engine_us),
            began,
            took: pace.next - begun,
        })
    }

    fn finished(self, per_second: u32) -> Rate {
        let Self { name, failures, counted, .. } = self;
        let began: u32 = counted.iter().map(|it| it.began).sum();
        let took: Duration = counted.iter().map(|it| it.took).sum();
        let (_, why_failed) = failures.into_counts();
        Rate {
            name,
            per_second,
            held_per_second: f64::from(began) / took.as_secs_f64(),
            server_cpu_us: counted.iter().map(|it| it.cpu_us).collect(),
            server_engine_us: counted.iter().map(|it| it.engine_us).collect(),
            why_failed,
        }
    }
}

/// When connections begin. One that is late delays those after it: they don't come in bursts.
struct Pace {
    interval: Duration,
    /// When the last wait was to end.
    next: Instant,
}

impl Pace {
    fn new(interval: Duration) -> Self {
        Self { interval, next: Instant::now() }
    }

    /// Waits until an interval after the last wait.
    fn wait(&mut self) {
        let now = Instant::now();
        self.next = (self.next + self.interval).max(now);
        thread::sleep(self.next - now);
    }
}

#[cfg(test)]
mod tests {
    use tessera_reports::KeyExchange;

    use super::super::EdgeWay;
    use super::*;
    use crate::certificates::Certificates;

    #[test]
    fn connections_come_no_faster_than_the_rate_and_have_processor_time() {
        let certificates = Certificates::P256;
        let parties = Parties::new(certificates, 2).unwrap();
        let plan = Plan { samples: 2, connections: 2 };
        let names = [EdgeWay::Resumed, EdgeWay::FullSigner].map(|way| RowName {
            way,
            kx: KeyExchange::X25519,
            certificates,
        });
        let rates = measure(&names, &parties, plan, 200, || ()).unwrap();
        assert_eq!(rates.len(), 2);
        for rate in rates {
            assert!(rate.held_per_second < 200.1, "{}", rate.held_per_second);
            for (cpu, engine) in rate.server_cpu_us.iter().zip(&rate.server_engine_us) {
                assert!(0.0 < *engine && engine < cpu, "{engine} of {cpu}");
            }
            assert_eq!((rate.server_cpu_us.len(), rate.why_failed.len()), (2, 0));
        }
    }
}
