//! Connections over a link, each with its bytes and times.

use tessera_link::{Link, LinkKind, LinkParameters};

use super::ends::{Ends, SESSIONS_AT_ONCE};
use super::report::{Cell, CellName, Part};
use super::way::check_certificates;
use crate::bench::check;
use crate::certificates::Parties;
use crate::error::LabError;
use crate::experiment::{Failures, seed_of};
use crate::wired::{Caller, Counter, Sample, Sizes, WiredPair};

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
            Ok(sample) if name.part == Part::Bytes && sample.was_sent_again() => {
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

/// Gives the client what it needs from earlier connections: tickets for this many, and filled caches.
fn prepare(wired: &mut WiredPair, ends: &mut Ends, times: usize) -> Result<(), LabError> {
    if ends.way.knows() {
        let caller =
            Caller { config: ends.client.clone(), session: None, known_key: None, sessions: 0 };
        wired.connect(&ends.server, caller, &[EXCHANGE], None)?;
    }
    while ends.way.resumes() && ends.sessions.len() < times {
        let config = ends.collector.clone();
        let caller =
            Caller { config, session: None, known_key: None, sessions: SESSIONS_AT_ONCE.into() };
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
        let caller =
            Caller { config: ends.client.clone(), session: None, known_key: None, sessions: 0 };
        wired.connect(before, caller, &[EXCHANGE], None)?;
        wired.see_the_end(&mut Counter::new(wired.address()))?;
    }
    let session = if ends.way.resumes() {
        let missing = || LabError::Connection("no session is left".to_owned());
        Some(ends.sessions.pop_front().ok_or_else(missing)?)
    } else {
        None
    };
    let caller = Caller {
        config: ends.client.clone(),
        session,
        known_key: ends.known_key.clone(),
        sessions: usize::from(ends.way.resumes()),
    };
    let mut counter = Counter::new(wired.address());
    let call = wired.connect(&ends.server, caller, &[EXCHANGE], Some(&mut counter))?;
    wired.see_the_end(&mut counter)?;
    let route = ends.way.way(parties.certificates);
    check(route, &call.client.observed, &call.server.observed)?;
    check_certificates(ends.way, &call.client.facts, &call.server.facts)
        .map_err(LabError::Connection)?;
    Sample::of(&call, &counter)
}

fn failed(error: Box<dyn std::error::Error>) -> LabError {
    LabError::Connection(format!("preparing both ends: {error}"))
}

#[cfg(test)]
mod tests;
