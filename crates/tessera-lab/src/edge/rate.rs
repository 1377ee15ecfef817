//! A proxy that gets connections at a fixed rate, over loopback: the processor time of its threads, one for each connection.

use std::thread;
use std::time::{Duration, Instant};

use tessera_link::{Link, LinkKind, LinkParameters};

use super::ends::Ends;
use super::report::{Rate, RowName};
use super::stage::{self, Plan, WARM_UP, failed};
use crate::bench::us;
use crate::certificates::Parties;
use crate::error::LabError;
use crate::experiment::Failures;
use crate::wired::WiredPair;

/// Measures a row with this many connections a second; calls `done` after each repetition that counts.
pub(super) fn measure(
    name: RowName,
    parties: &Parties,
    plan: Plan,
    per_second: u32,
    done: impl Fn(),
) -> Result<Rate, LabError> {
    let kind = LinkKind::Loopback;
    let mut wired = WiredPair::new(Link::open(kind, &LinkParameters::default())?)?;
    let mut ends = Ends::new(name.way, name.kx, parties, kind, None).map_err(failed)?;
    let Plan { samples, connections } = plan;
    stage::collect(&mut wired, &mut ends, plan.tickets())?;
    let mut failures = Failures::new(samples * connections);
    let [mut server_cpu_us, mut server_engine_us] = [(); 2].map(|()| Vec::with_capacity(samples));
    let mut pace = Pace::new(Duration::from_secs(1) / per_second.max(1));
    let (mut begun, mut count) = (pace.next, 0_u32);
    for number in 0..WARM_UP + samples {
        if number == WARM_UP {
            pace.wait();
            (begun, count) = (pace.next, 0);
        }
        let mut sums = (0.0, 0.0);
        let mut made = 0;
        while made < connections {
            match stage::connection(&mut wired, &mut ends) {
                Ok(connection) => {
                    sums.0 += us(connection.server_cpu);
                    sums.1 += connection.sample.of.server_engine_us;
                    made += 1;
                }
                Err(error) => failures.add(error.to_string())?,
            }
            count += 1;
            pace.wait();
        }
        if number >= WARM_UP {
            server_cpu_us.push(sums.0 / connections as f64);
            server_engine_us.push(sums.1 / connections as f64);
            done();
        }
    }
    let held_per_second = f64::from(count) / (pace.next - begun).as_secs_f64();
    let (_, why_failed) = failures.into_counts();
    Ok(Rate { name, per_second, held_per_second, server_cpu_us, server_engine_us, why_failed })
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
        for way in [EdgeWay::Resumed, EdgeWay::FullSigner] {
            let name = RowName { way, kx: KeyExchange::X25519, certificates };
            let rate = measure(name, &parties, plan, 200, || ()).unwrap();
            assert!(rate.held_per_second < 200.1, "{}", rate.held_per_second);
            for (cpu, engine) in rate.server_cpu_us.iter().zip(&rate.server_engine_us) {
                assert!(0.0 < *engine && engine < cpu, "{engine} of {cpu}");
            }
            assert_eq!((rate.server_cpu_us.len(), rate.why_failed.len()), (2, 0));
        }
    }
}
