//! Connections over loopback or a link, each with its bytes and times.

use std::time::Duration;

use tessera_link::{Link, LinkKind, LinkParameters};

use super::ends::{Ends, SESSIONS_AT_ONCE};
use super::report::{Cell, CellName, EXCHANGE, Sample};
use crate::bench::check;
use crate::certificates::Parties;
use crate::error::LabError;
use crate::experiment::{Failures, seed_of};
use crate::wired::{self, Caller, Counter, WiredPair};

/// Samples before the first that counts.
pub(super) const WARM_UP: usize = 1;

/// How many samples, and how many connections each is the mean of.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) samples: usize,
    pub(super) connections: usize,
}

impl Plan {
    /// Returns how many tickets its connections need at most.
    pub(super) fn tickets(self) -> usize {
        let Self { samples, connections } = self;
        (WARM_UP + samples) * connections + Failures::most(samples * connections)
    }
}

/// A connection of its way.
pub(super) struct Connection {
    pub(super) sample: Sample,
    /// Whether its ancestry is post-quantum.
    pub(super) is_post_quantum: bool,
    /// The processor time of the proxy's thread.
    pub(super) server_cpu: Duration,
}

/// Measures a cell over a fresh link; calls `done` after each sample that counts.
pub(super) fn measure(
    name: &CellName,
    parties: &Parties,
    plan: Plan,
    seed: u64,
    done: impl Fn(),
) -> Result<Cell, LabError> {
    let kind = if name.link.is_some() { LinkKind::Tun } else { LinkKind::Loopback };
    // The first connections of a cell use a link without delay.
    let mut wired = WiredPair::new(Link::open(kind, &LinkParameters::default())?)?;
    let mut ends = Ends::new(name.way, name.kx, parties, kind, None).map_err(failed)?;
    let Plan { samples, connections } = plan;
    collect(&mut wired, &mut ends, plan.tickets())?;
    if let Some(link) = &name.link {
        let parameters = link.parameters(seed_of(&name.key(), seed));
        if let Some(joined) = ends.joined() {
            joined.set_link(&LinkParameters { rtt: parameters.rtt, ..Default::default() })?;
        }
        wired.set_link(&parameters)?;
    }
    let mut failures = Failures::new(samples * connections);
    let mut measured = Vec::with_capacity(samples);
    let mut post_quantum = false;
    for number in 0..WARM_UP + samples {
        let mut of_sample = Vec::with_capacity(connections);
        while of_sample.len() < connections {
            match connection(&mut wired, &mut ends) {
                Ok(made) => {
                    of_sample.push(made.sample);
                    post_quantum = made.is_post_quantum;
                }
                Err(error) => failures.add(error.to_string())?,
            }
        }
        if number >= WARM_UP {
            measured.extend(mean(&of_sample));
            done();
        }
    }
    let (_, why_failed) = failures.into_counts();
    Ok(Cell { name: name.clone(), post_quantum, samples: measured, why_failed })
}

/// Gives the client tickets for this many connections.
pub(super) fn collect(
    wired: &mut WiredPair,
    ends: &mut Ends,
    times: usize,
) -> Result<(), LabError> {
    while ends.way.resumes() && ends.sessions.len() < times {
        let config = ends.collector.clone();
        let caller =
            Caller { config, session: None, known_key: None, sessions: SESSIONS_AT_ONCE.into() };
        let call = wired.connect(&ends.first, caller, &[EXCHANGE], None)?;
        ends.keep(call.sessions, &call.server.facts).map_err(failed)?;
    }
    Ok(())
}

/// Makes one connection, and checks that it is of the way.
pub(super) fn connection(wired: &mut WiredPair, ends: &mut Ends) -> Result<Connection, LabError> {
    let session = ends.next_session().map_err(failed)?;
    let caller = Caller { config: ends.client.clone(), session, known_key: None, sessions: 1 };
    let mut counter = Counter::new(wired.address());
    let call = wired.connect(&ends.server, caller, &[EXCHANGE], Some(&mut counter))?;
    wired.see_the_end(&mut counter)?;
    check(ends.way.observed(ends.kx), &call.client.observed, &call.server.observed)?;
    let retried = ends.way == super::EdgeWay::Retry;
    if call.client.facts.hello_retry != retried {
        return Err(LabError::Connection("a HelloRetryRequest came or was missing".to_owned()));
    }
    let hello = call.client.hello;
    let sample = Sample { of: wired::Sample::of(&call, &counter)?, hello };
    let is_post_quantum = call.client.observed.post_quantum;
    Ok(Connection { sample, is_post_quantum, server_cpu: call.server.thread_cpu })
}

/// Returns the mean of connections' times, with the bytes of the last.
fn mean(of: &[Sample]) -> Option<Sample> {
    let count = of.len() as f64;
    let mean =
        |value: fn(&wired::Sample) -> f64| of.iter().map(|it| value(&it.of)).sum::<f64>() / count;
    let last = of.last()?;
    Some(Sample {
        of: wired::Sample {
            tcp_us: mean(|it| it.tcp_us),
            handshake_us: mean(|it| it.handshake_us),
            response_us: mean(|it| it.response_us),
            client_engine_us: mean(|it| it.client_engine_us),
            server_engine_us: mean(|it| it.server_engine_us),
            ..last.of
        },
        ..*last
    })
}

pub(super) fn failed(error: Box<dyn std::error::Error>) -> LabError {
    LabError::Connection(format!("preparing both ends: {error}"))
}

#[cfg(test)]
mod tests {
    use tessera_reports::KeyExchange;

    use super::super::EdgeWay;
    use super::*;
    use crate::certificates::Certificates;

    /// Returns a connection over loopback.
    fn connected(way: EdgeWay, kx: KeyExchange, parties: &Parties) -> (Sample, usize, bool) {
        let mut wired =
            WiredPair::new(Link::open(LinkKind::Loopback, &LinkParameters::default()).unwrap())
                .unwrap();
        let kind = LinkKind::Loopback;
        let mut ends = Ends::new(way, kx, parties, kind, None).unwrap();
        collect(&mut wired, &mut ends, 1).unwrap();
        let ticket = ends.sessions.front().map_or(0, |session| session.ticket.len());
        let made = connection(&mut wired, &mut ends).unwrap();
        (made.sample, ticket, made.is_post_quantum)
    }

    /// RFC 8446 §4.2.11: type and length of the extension, two lengths of lists, those of identity and binder, and the
    /// age.
    const PSK_FRAME: u64 = 4 + 2 + 2 + 4 + 2 + 1;
    const BINDER: u64 = 32;

    /// RFC 8446 §4.2.8: group, length, and a key of X25519. A client knows the group of its ticket's server, and sends no
    /// other share.
    const SPARE_SHARE: u64 = 2 + 2 + 32;

    #[test]
    fn a_ticket_adds_itself_its_binder_and_fifteen_bytes_to_a_client_hello() {
        assert_eq!(PSK_FRAME, 15);
        let parties = Parties::new(Certificates::P256, 2).unwrap();
        for (kx, spare) in KeyExchange::ALL.into_iter().zip([0, SPARE_SHARE]) {
            let (full, ..) = connected(EdgeWay::Full, kx, &parties);
            let (resumed, ticket, _) = connected(EdgeWay::Resumed, kx, &parties);
            let growth = ticket as u64 + BINDER + PSK_FRAME;
            assert_eq!(resumed.hello + spare - full.hello, growth, "{kx:?}");
            assert!(resumed.of.server.handshake < full.of.server.handshake);
        }
    }

    #[test]
    fn a_classical_resumption_of_a_hybrid_handshake_is_as_short_as_a_classical_one() {
        let parties = Parties::new(Certificates::P256, 2).unwrap();
        let (inherited, _, ancestry) = connected(EdgeWay::Inherited, KeyExchange::X25519, &parties);
        let (resumed, ..) = connected(EdgeWay::Resumed, KeyExchange::X25519, &parties);
        assert_eq!((inherited.hello, inherited.flights()), (resumed.hello, resumed.flights()));
        // It counts the weakest exchange of the chain.
        assert!(!ancestry);
        let (.., ancestry) = connected(EdgeWay::Resumed, KeyExchange::X25519MlKem768, &parties);
        assert!(ancestry);
    }

    #[test]
    fn a_moved_key_is_accepted_at_the_other_proxy_and_a_burned_ones_data_is_sent_again() {
        let parties = Parties::new(Certificates::P256, 2).unwrap();
        for kx in KeyExchange::ALL {
            let (home, _, ancestry) = connected(EdgeWay::ZeroRttFs, kx, &parties);
            let (moved, ..) = connected(EdgeWay::ZeroRttFsMoved, kx, &parties);
            // Early data: the handshake is not complete before the response.
            assert_eq!(home.of.server.handshake, moved.of.server.handshake);
            // Its ticket has the client's name.
            assert!(home.hello < moved.hello && moved.hello < home.hello + 100, "{kx:?}");
            let (burned, _, of_burned) = connected(EdgeWay::ZeroRttFsBurned, kx, &parties);
            assert_eq!((burned.hello, of_burned), (moved.hello, ancestry));
            assert!(burned.of.handshake_us < burned.of.response_us);
            // The request in a record of its own again, and no EndOfEarlyData.
            assert!(burned.of.client.tls > moved.of.client.tls, "{kx:?}");
        }
    }

    #[test]
    fn a_signer_changes_no_byte() {
        let parties = Parties::new(Certificates::MlDsa65, 2).unwrap();
        let kx = KeyExchange::X25519;
        let (full, ..) = connected(EdgeWay::Full, kx, &parties);
        let (signed, ..) = connected(EdgeWay::FullSigner, kx, &parties);
        assert_eq!((full.hello, full.flights()), (signed.hello, signed.flights()));
    }

    #[test]
    fn a_retry_has_two_client_hellos() {
        let parties = Parties::new(Certificates::P256, 2).unwrap();
        let kx = KeyExchange::X25519MlKem768;
        let (retry, ..) = connected(EdgeWay::Retry, kx, &parties);
        let (full, ..) = connected(EdgeWay::Full, kx, &parties);
        assert!(retry.hello < full.hello);
        assert!(retry.of.client.handshake > full.of.client.handshake);
    }
}
