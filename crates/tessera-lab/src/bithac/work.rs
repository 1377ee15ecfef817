//! The computation of both ends: connections in memory, with chains of one to four certificates.

use super::ends::Ends;
use super::report::{Instructions, Work};
use super::verifications::Verifications;
use super::way::CertificateWay;
use crate::bench::{check, us};
use crate::certificates::{Certificates, Parties};
use crate::endpoint::Result;
use crate::in_memory::{FinishedConnection, connect, connect_with_key};
use crate::instructions::CountingGuard;

/// How long the chains are.
pub(super) const CHAINS: [usize; 4] = [1, 2, 3, 4];

/// Connections before the first that counts.
const WARM_UP: usize = 5;

/// How often each way has its turn: other load of the machine affects all of them alike.
const TURNS: usize = 10;

/// Measures ways with chains of a length, in turns; `done` is called after each connection that counts.
pub(super) fn measure(
    ways: &[CertificateWay],
    certificates: Certificates,
    chain: usize,
    repetitions: usize,
    done: impl Fn(),
) -> Result<Vec<Work>> {
    let parties = Parties::new(certificates, chain)?;
    let mut measured = Vec::new();
    for way in ways {
        let ends = Ends::new(*way, &parties)?;
        for _ in 0..WARM_UP {
            connection(&ends, &parties)?;
        }
        connection(&ends, &parties)?;
        let [client, server] = Verifications::of_both();
        let work = Work {
            way: *way,
            certificates,
            chain,
            client_verifications: client.take(),
            server_verifications: server.take(),
            client_us: Vec::with_capacity(repetitions),
            server_us: Vec::with_capacity(repetitions),
            instructions: Some(instructions(|| connection(&ends, &parties))?),
        };
        measured.push((ends, work));
    }
    for turn in 1..=TURNS {
        for (ends, work) in &mut measured {
            while work.client_us.len() < repetitions * turn / TURNS {
                let made = connection(ends, &parties)?;
                work.client_us.push(us(made.client.engine));
                work.server_us.push(us(made.server.engine));
                done();
            }
        }
    }
    Ok(measured.into_iter().map(|(_, work)| work).collect())
}

/// The number of connections whose instructions are counted: they vary with signatures and keys.
const COUNTED: usize = 9;

/// Counts the instructions of both ends, apart from the samples of times, which it would lengthen.
fn instructions(connect: impl Fn() -> Result<FinishedConnection>) -> Result<Instructions> {
    let counting = match CountingGuard::begin() {
        Ok(counting) => counting,
        Err(reason) => return Ok(Instructions::Uncounted(reason)),
    };
    let mut counted = [[0; COUNTED]; 2];
    let [client, server] = &mut counted;
    for (client, server) in client.iter_mut().zip(server) {
        let made = connect()?;
        (*client, *server) = (made.client.instructions, made.server.instructions);
    }
    drop(counting);
    let [client, server] = counted.map(|mut of_end| {
        of_end.sort_unstable();
        of_end[COUNTED / 2]
    });
    Ok(Instructions::Retired { client, server })
}

/// Returns the ways among these whose computation concerns certificates and differs from the others'.
pub(super) fn ways(asked: &[CertificateWay], certificates: Certificates) -> Vec<CertificateWay> {
    let computes = |way: &CertificateWay| !way.resumes() && !way.is_for_links();
    asked.iter().copied().filter(|way| computes(way) && way.is_for(certificates)).collect()
}

fn connection(ends: &Ends, parties: &Parties) -> Result<FinishedConnection> {
    match attempt(ends, parties) {
        // Another chain has the id of the offered one in one handshake of 16,384 at each end, which then fails
        // (docs/cached-handshakes.md §8).
        Err(_) if ends.way.misses() => attempt(ends, parties),
        made => made,
    }
}

fn attempt(ends: &Ends, parties: &Parties) -> Result<FinishedConnection> {
    let cold;
    let ends = if ends.way.is_cold() {
        // Verifiers must not recognise anything either.
        cold = Ends::new(ends.way, parties)?;
        // Put the processor's caches in the same state as when nothing is recreated.
        let strangers = Ends::new(ends.way, parties)?;
        connect(strangers.client, strangers.server, None, 0)?;
        &cold
    } else {
        ends
    };
    if let Some(before) = ends.begin() {
        connect(ends.client.clone(), before.clone(), None, 0)?;
    }
    let [client, server] = Verifications::of_both();
    client.take();
    server.take();
    let made = connect_with_key(ends.client.clone(), ends.server.clone(), ends.known_key.clone())?;
    check(ends.way.way(parties.certificates), &made.client.observed, &made.server.observed)?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of n certificates has n signatures, not counting the root's own, and CertificateVerify is one more. For
    /// a known chain only that one is checked.
    #[test]
    fn every_certificate_of_a_chain_costs_a_verification_unless_it_is_known() {
        use CertificateWay::{Cached, CachedFirst, CachedMiss, Full, Known, RawKeys};
        for chain in CHAINS {
            let ways = [Full, CachedFirst, CachedMiss, Known, Cached, RawKeys];
            let measured = measure(&ways, Certificates::P256, chain, 10, || ()).unwrap();
            for (work, in_chain) in measured.iter().zip([chain as u64; 3].into_iter().chain([0; 3]))
            {
                let counted = [work.client_verifications, work.server_verifications];
                assert_eq!(counted, [in_chain + 1; 2], "{}", work.key());
                assert_eq!((work.client_us.len(), work.server_us.len()), (10, 10));
                assert!(match work.instructions.as_ref().unwrap() {
                    Instructions::Retired { client, server } => client.min(server) > &100_000,
                    Instructions::Uncounted(reason) => !reason.is_empty(),
                });
            }
        }
    }

    /// Who decapsulates signs nothing: only chains are verified.
    #[test]
    fn kems_cost_no_verification_but_the_chains() {
        use CertificateWay::{Cached, Full, KnownKey, RawKeys};
        let ways = [Full, Cached, RawKeys, KnownKey];
        let measured = measure(&ways, Certificates::MlKem768, 2, 10, || ()).unwrap();
        for (work, in_chain) in measured.iter().zip([2, 0, 0, 0]) {
            let counted = [work.client_verifications, work.server_verifications];
            assert_eq!(counted, [in_chain; 2], "{}", work.key());
        }
    }
}
