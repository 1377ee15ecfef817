//! Caches that know only some of the peers: connections in memory.

use super::ends::Ends;
use super::report::Hits;
use super::way::{CertificateWay, check_certificates};
use crate::bench::us;
use crate::certificates::{Certificates, Parties};
use crate::endpoint::Result;
use crate::in_memory::{FinishedConnection, connect};

/// How many of a hundred connections find both caches filled.
pub(super) const RATES: [u32; 4] = [100, 90, 50, 0];

/// How many certificates each end sends.
pub(super) const CHAIN: usize = 3;

/// Connections of each rate before the first that counts.
const WARM_UP: usize = 5;

/// Measures each rate, and full handshakes, in turns; calls `done` after each connection that counts.
pub(super) fn measure(
    certificates: Certificates,
    repetitions: usize,
    done: impl Fn(),
) -> Result<Vec<Hits>> {
    let parties = Parties::new(certificates, CHAIN)?;
    let rates = [None].into_iter().chain(RATES.map(Some));
    let mut lanes = rates.map(|rate| Lane::new(rate, &parties)).collect::<Result<Vec<_>>>()?;
    for number in 0..WARM_UP + repetitions {
        for lane in &mut lanes {
            let (made, is_hit) = lane.connect(number, &parties)?;
            if number >= WARM_UP {
                lane.count(&made, is_hit);
                done();
            }
        }
    }
    Ok(lanes.into_iter().map(|lane| lane.hits).collect())
}

/// Connections of one rate.
struct Lane {
    ends: Ends,
    hits: Hits,
}

impl Lane {
    fn new(rate: Option<u32>, parties: &Parties) -> Result<Self> {
        let way = rate.map_or(CertificateWay::Full, |_| CertificateWay::Cached);
        let hits = Hits {
            certificates: parties.certificates,
            rate,
            hits: 0,
            bytes: Vec::new(),
            client_us: Vec::new(),
            server_us: Vec::new(),
        };
        Ok(Self { ends: Ends::new(way, parties)?, hits })
    }

    /// Before each connection, strangers make one, with caches if these ends have some, so that the processor's caches
    /// are in the same state each time.
    fn connect(&mut self, number: usize, parties: &Parties) -> Result<(FinishedConnection, bool)> {
        let way = self.ends.way;
        if self.hits.rate.is_some_and(|rate| !is_hit(number, rate)) {
            // Neither end knows the other.
            self.ends = Ends::new(way, parties)?;
        }
        let strangers = Ends::new(way, parties)?;
        connect(strangers.client, strangers.server, None, 0)?;
        let made = connect(self.ends.client.clone(), self.ends.server.clone(), None, 0)?;
        let facts = (&made.client.facts, &made.server.facts);
        let is_hit = check_certificates(CertificateWay::Cached, facts.0, facts.1).is_ok();
        Ok((made, is_hit))
    }

    fn count(&mut self, made: &FinishedConnection, is_hit: bool) {
        self.hits.hits += u32::from(is_hit);
        self.hits.bytes.push(made.client.sent + made.server.sent);
        self.hits.client_us.push(us(made.client.engine));
        self.hits.server_us.push(us(made.server.engine));
    }
}

/// Whether a connection is one that finds both caches filled: misses are spread evenly.
fn is_hit(number: usize, rate: u32) -> bool {
    let misses = |count: usize| count * (100 - rate.min(100)) as usize / 100;
    misses(number + 1) == misses(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rate_has_its_hits_and_a_miss_is_a_full_handshake() {
        let measured = measure(Certificates::P256, 20, || ()).unwrap();
        let hits: Vec<_> = measured.iter().map(|it| (it.rate, it.hits)).collect();
        let expected = [(None, 0), (Some(100), 19), (Some(90), 18), (Some(50), 10), (Some(0), 0)];
        for (found, expected) in hits.iter().zip(expected) {
            // The first connection of all is a miss, but warms up.
            assert_eq!(found.0, expected.0);
            assert!(found.1 >= expected.1 && found.1 <= expected.1 + 1, "{hits:?}");
        }
        let mean = |it: &Hits| it.bytes.iter().sum::<u64>() / it.bytes.len() as u64;
        let [full, all, most, half, none] = &measured[..] else { panic!("five rates") };
        assert!(mean(all) < mean(most) && mean(most) < mean(half) && mean(half) < mean(none));
        assert!(mean(none) <= mean(full) + 16, "{} {}", mean(none), mean(full));
        assert_eq!((all.client_us.len(), all.server_us.len()), (20, 20));
    }
}
