//! Handshakes over datagrams: DTLS 1.3 (RFC 9147) in virtual time, so that a seed repeats each loss and each moment.

mod direction;
mod handshake;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use tessera::resume::{ClientSession, TicketKeys};
use tessera_link::LinkParameters;
use tessera_vault::RotatingRing;

use self::handshake::{FinishedHandshake, VirtualTime};
use super::datagram_samples::DatagramSamples;
use super::ends::Ends;
use super::report::{CellName, DatagramCell};
use super::way::check_certificates;
use crate::bench::check;
use crate::certificates::Parties;
use crate::endpoint::{Result, observed};
use crate::error::LabError;
use crate::experiment::{Failures, seed_of};

/// Measures a cell. Calls `done` after each handshake that counts.
pub(super) fn measure(
    name: &CellName,
    parties: &Parties,
    samples: usize,
    seed: u64,
    done: impl Fn(),
) -> std::result::Result<DatagramCell, LabError> {
    let failed = |error: Box<dyn std::error::Error>| {
        LabError::Connection(format!("preparing both ends: {error}"))
    };
    let mut stage = Stage::new(name, parties).map_err(failed)?;
    stage.prepare(samples + Failures::most(samples)).map_err(failed)?;
    let mut failures = Failures::new(samples);
    let mut cell = DatagramCell {
        name: name.clone(),
        samples: DatagramSamples::default(),
        why_failed: Default::default(),
    };
    for number in 0.. {
        if cell.samples.len() == samples {
            break;
        }
        let seed = seed_of(&format!("{}/{number}", name.key()), seed);
        match stage.handshake(&name.link.parameters(seed)) {
            Ok(finished) => {
                finished.add_to(&mut cell.samples);
                done();
            }
            Err(error) => failures.add(error.to_string())?,
        }
    }
    (_, cell.why_failed) = failures.into_counts();
    Ok(cell)
}

/// Both ends of a cell, from handshake to handshake.
struct Stage<'p> {
    ends: Ends,
    parties: &'p Parties,
    cookies: Arc<dyn TicketKeys>,
    time: VirtualTime,
    /// A link without delay or losses, for what comes before a handshake that counts.
    easy: LinkParameters,
}

impl<'p> Stage<'p> {
    fn new(name: &CellName, parties: &'p Parties) -> Result<Self> {
        Ok(Self {
            ends: Ends::new(name.way, parties)?,
            parties,
            cookies: Arc::new(RotatingRing::new(&tessera_aws_lc::provider())),
            time: VirtualTime::begin()?,
            easy: LinkParameters { mtu: name.link.mtu, ..LinkParameters::default() },
        })
    }

    /// Gives the client what it needs from earlier handshakes: tickets for this many, and filled caches.
    fn prepare(&mut self, times: usize) -> Result<()> {
        let Self { ends, cookies, time, easy, .. } = self;
        if ends.way.knows() {
            handshake::run(&ends.client, &ends.server, cookies, None, None, easy, time)?;
        }
        while ends.way.resumes() && ends.sessions.len() < times {
            let made =
                handshake::run(&ends.collector, &ends.server, cookies, None, None, easy, time)?;
            if made.sessions.is_empty() {
                return Err("a handshake brought no ticket".into());
            }
            ends.sessions.extend(made.sessions);
        }
        Ok(())
    }

    /// Runs one handshake, and checks that it is of the way.
    fn handshake(&mut self, link: &LinkParameters) -> Result<FinishedHandshake> {
        let Self { ends, parties, cookies, time, easy } = self;
        if let Some(before) = ends.begin() {
            handshake::run(&ends.client, before, cookies, None, None, easy, time)?;
        }
        let session = session(ends.way.resumes(), &mut ends.sessions)?;
        let made = handshake::run(
            &ends.client,
            &ends.server,
            cookies,
            session,
            ends.known_key.clone(),
            link,
            time,
        )?;
        let (client, server) = (&made.client.facts, &made.server.facts);
        check(ends.way.way(parties.certificates), &observed(client), &observed(server))?;
        check_certificates(ends.way, client, server)?;
        Ok(made)
    }
}

fn session(resumes: bool, sessions: &mut VecDeque<ClientSession>) -> Result<Option<ClientSession>> {
    match resumes {
        true => Ok(Some(sessions.pop_front().ok_or("no session is left")?)),
        false => Ok(None),
    }
}
