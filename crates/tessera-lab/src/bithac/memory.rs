//! What peers that are remembered take on the heap.

use tessera::Role;
use tessera::handshake::Checked;
use tessera::{ClientConfig, ServerConfig};

use super::certificates::{Certificates, Parties, Party};
use super::ends::Ends;
use super::report::{End, Held, Memory, Peak};
use super::way::CertificateWay;
use crate::components;
use crate::endpoint::Result;
use crate::error::LabError;
use crate::heap;
use crate::in_memory::connect_to;
use crate::pki::SERVER_NAME;

/// How many peers are remembered when it is looked.
pub(super) const ENTRIES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// How many certificates each end sends.
const CHAIN: usize = 3;

/// The ways in which peers are remembered: by verifiers alone, and by caches with them.
pub(super) const WAYS: [CertificateWay; 2] = [CertificateWay::Known, CertificateWay::Cached];

/// Measures one end: what it holds more with each peer that it has met.
pub(super) fn measure(
    way: CertificateWay,
    parties: &Parties,
    peers: &Peers,
    end: End,
) -> Result<Memory> {
    // The peers share what they remember themselves, of one and the same end. They have met that before, as often as they
    // remember it; so what grows is the end that is measured, which has met nobody.
    let [others, own] = [Ends::new(way, parties)?, Ends::new(way, parties)?];
    let of_end = match end {
        End::Client => &peers.servers,
        End::Server => &peers.clients,
    };
    let configured = of_end.iter().map(|peer| {
        Ok(match end {
            End::Client => {
                let peer_config = others.server_of(peer)?;
                let name = peer.name.as_str();
                let before = (name, others.client.clone(), peer_config.clone());
                (before, (name, own.client.clone(), peer_config))
            }
            End::Server => {
                let peer_config = others.client_of(peer)?;
                let before = (SERVER_NAME, peer_config.clone(), others.server.clone());
                (before, (SERVER_NAME, peer_config, own.server.clone()))
            }
        })
    });
    let configured: Vec<(Configured<'_>, Configured<'_>)> = configured.collect::<Result<_>>()?;
    for (before, _) in &configured {
        meet(before)?;
    }
    let before = heap::held_by_thread()?;
    let mut held = Vec::new();
    for (number, (_, now)) in configured.iter().enumerate() {
        meet(now)?;
        if ENTRIES.contains(&(number + 1)) {
            held.push(Held { entries: number + 1, bytes: heap::held_by_thread()? - before });
        }
    }
    if held.iter().all(|it| it.bytes == 0) {
        return Err("this program doesn't allocate with jemalloc".into());
    }
    let certificates = parties.certificates;
    Ok(Memory { way, certificates, end, chain: CHAIN, held })
}

/// As many other ends as are remembered at most.
pub(super) struct Peers {
    clients: Vec<Party>,
    servers: Vec<Party>,
}

/// Certificates of both ends, for [`measure`], and of their peers.
pub(super) fn parties(certificates: Certificates) -> Result<(Parties, Peers)> {
    let parties = Parties::new(certificates, CHAIN)?;
    let most = ENTRIES.iter().copied().max().unwrap_or(0);
    let names = || (0..most).map(|number| format!("peer-{number:02}.example"));
    let clients = parties.others(Role::Client, names())?;
    let servers = parties.others(Role::Server, names())?;
    Ok((parties, Peers { clients, servers }))
}

/// Measures how much each end holds when it holds most: in full handshakes, in the first with empty caches, and in
/// later ones.
pub(super) fn peaks(certificates: Certificates) -> std::result::Result<Vec<Peak>, LabError> {
    let failed =
        |error: &dyn std::fmt::Display| LabError::Connection(format!("peaks of memory: {error}"));
    // As many as the paper has.
    let parties = Parties::new(certificates, CHAIN).map_err(|error| failed(&error))?;
    let ways = [CertificateWay::Full, CertificateWay::CachedFirst, CertificateWay::Cached];
    let peaks = ways.map(|way| {
        let ends = Ends::new(way, &parties).map_err(|error| failed(&error))?;
        let configs = ((*ends.client).clone(), (*ends.server).clone());
        let forgets = ends.forgetting();
        let before = || {
            if way.is_cold() {
                forgets();
            }
        };
        let [client, server] = components::peaks(configs, before)?;
        Ok(Peak { way, certificates, chain: CHAIN, client, server })
    });
    peaks.into_iter().collect()
}

type Configured<'a> = (&'a str, Checked<ClientConfig>, Checked<ServerConfig>);

fn meet((name, client, server): &Configured<'_>) -> Result<()> {
    connect_to(name, client.clone(), server.clone(), None, 0).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The allocator of these tests is jemalloc.
    #[test]
    fn every_peer_takes_some_memory_and_certificates_are_not_among_it() {
        let (parties, peers) = parties(Certificates::P256).unwrap();
        let certificates = parties.server.chain.iter().map(Vec::len).sum::<usize>() as f64;
        for way in WAYS {
            for end in [End::Client, End::Server] {
                let memory = measure(way, &parties, &peers, end).unwrap();
                let counts: Vec<_> = memory.held.iter().map(|it| it.entries).collect();
                assert_eq!(counts, ENTRIES);
                let each = memory.per_entry().unwrap();
                assert!((50.0..certificates).contains(&each), "{way} {end:?}: {each} bytes a peer");
            }
        }
    }

    #[test]
    fn peaks_of_memory_are_seen_at_both_ends_in_each_way() {
        let peaks = peaks(Certificates::P256).unwrap();
        let ways: Vec<_> = peaks.iter().map(|peak| peak.way.name()).collect();
        assert_eq!(ways, ["full", "cached-first", "cached"]);
        for peak in &peaks {
            assert!(peak.client > 2_000 && peak.server > 2_000, "{peak:?}");
        }
    }
}
