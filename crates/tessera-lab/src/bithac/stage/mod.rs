//! Connections over a link, each with its bytes and times.

use std::time::Duration;

use tessera_link::{Link, LinkKind, LinkParameters};

use super::bytes::{Counter, Packets, SentBytes};
use super::certificates::Parties;
use super::ends::{Ends, SESSIONS_AT_ONCE};
use super::report::{Cell, CellName, Part, Sample};
use super::way::check_certificates;
use crate::bench::{check, us};
use crate::error::LabError;
use crate::experiment::{Failures, seed_of};
use crate::wired::{Call, Caller, EndReport, Sizes, WiredPair};

/// One message each way.
const EXCHANGE: Sizes = Sizes { request: 16, response: 16 };

/// Measures a cell over a fresh link: a kernel must not carry what it learned about the losses of one over to another.
/// Calls `done` after each connection that counts.
pub(super) fn measure(
    name: &CellName,
    parties: &Parties,
    samples: usize,
    seed: u64,
    done: impl Fn(),
) -> Result<Cell, LabError> {
    // The first connections of a cell use a link without delay.
    let easy = LinkParameters { mtu: name.link.mtu, ..LinkParameters::default() };
    let mut wired = WiredPair::new(Link::open(LinkKind::Tun, &easy)?)?;
    let mut ends = Ends::new(name.way, parties).map_err(failed)?;
    prepare(&mut wired, &mut ends, samples + Failures::most(samples) + MOST_AGAIN)?;
    wired.set_link(&name.link.parameters(seed_of(&name.key(), seed)))?;
    let mut failures = Failures::new(samples);
    let mut again = 0;
    let mut measured = Vec::with_capacity(samples);
    while measured.len() < samples {
        match connection(&mut wired, &mut ends, parties) {
            // Nothing was lost: the machine was slow, and TCP retransmitted too early.
            Ok(sample) if name.part == Part::Bytes && was_sent_again(&sample) => {
                again += 1;
                if again > MOST_AGAIN {
                    let what = "TCP retransmits what was not lost: the machine is too busy";
                    return Err(LabError::Connection(what.to_owned()));
                }
            }
            Ok(sample) => {
                measured.push(sample);
                done();
            }
            Err(error) => failures.add(error.to_string())?,
        }
    }
    let (_, why_failed) = failures.into_counts();
    Ok(Cell { name: name.clone(), samples: measured, why_failed })
}

/// How often to repeat a connection whose bytes are counted.
const MOST_AGAIN: usize = 50;

/// Whether TCP retransmitted.
fn was_sent_again(sample: &Sample) -> bool {
    [sample.client, sample.server].iter().any(|sent| sent.payload != sent.tls)
}

/// Gives the client what it needs from earlier connections: tickets for this many, and filled caches.
fn prepare(wired: &mut WiredPair, ends: &mut Ends, times: usize) -> Result<(), LabError> {
    if ends.way.knows() {
        let caller = Caller { config: ends.client.clone(), session: None, sessions: 0 };
        wired.connect(&ends.server, caller, &[EXCHANGE], None)?;
    }
    while ends.way.resumes() && ends.sessions.len() < times {
        let config = ends.collector.clone();
        let caller = Caller { config, session: None, sessions: SESSIONS_AT_ONCE.into() };
        let call = wired.connect(&ends.server, caller, &[EXCHANGE], None)?;
        ends.sessions.extend(call.sessions);
    }
    Ok(())
}

/// Makes one connection, and checks that it is of the way.
fn connection(
    wired: &mut WiredPair,
    ends: &mut Ends,
    parties: &Parties,
) -> Result<Sample, LabError> {
    if let Some(before) = ends.begin() {
        let caller = Caller { config: ends.client.clone(), session: None, sessions: 0 };
        wired.connect(before, caller, &[EXCHANGE], None)?;
        wired.see_the_end(&mut Counter::new(wired.address()))?;
    }
    let session = if ends.way.resumes() {
        let missing = || LabError::Connection("no session is left".to_owned());
        Some(ends.sessions.pop_front().ok_or_else(missing)?)
    } else {
        None
    };
    let caller =
        Caller { config: ends.client.clone(), session, sessions: usize::from(ends.way.resumes()) };
    let mut counter = Counter::new(wired.address());
    let call = wired.connect(&ends.server, caller, &[EXCHANGE], Some(&mut counter))?;
    wired.see_the_end(&mut counter)?;
    let route = ends.way.way(parties.certificates);
    check(route, &call.client.observed, &call.server.observed)?;
    check_certificates(ends.way, &call.client.facts, &call.server.facts)
        .map_err(LabError::Connection)?;
    sample(&call, &counter)
}

fn sample(call: &Call, counter: &Counter) -> Result<Sample, LabError> {
    let since = |moment: Duration| us(moment.saturating_sub(call.started));
    let responded = call.client.responded;
    let responded =
        responded.ok_or_else(|| LabError::Connection("a connection carried nothing".to_owned()))?;
    let sent = |told: &EndReport, packets: Packets| SentBytes {
        handshake: told.handshake_sent,
        tls: told.sent,
        ip: packets.ip,
        packets: packets.count,
        payload: packets.payload,
    };
    Ok(Sample {
        tcp_us: since(call.connected),
        handshake_us: since(call.client.complete),
        response_us: since(responded),
        client_engine_us: us(call.client.engine_cpu),
        server_engine_us: us(call.server.engine_cpu),
        client: sent(&call.client, counter.from_client),
        server: sent(&call.server, counter.from_server),
    })
}

fn failed(error: Box<dyn std::error::Error>) -> LabError {
    LabError::Connection(format!("preparing both ends: {error}"))
}

#[cfg(test)]
mod tests;
