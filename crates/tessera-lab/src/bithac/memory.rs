//! The heap memory of remembered peers.

use std::cell::Cell;
use std::sync::mpsc;
use std::{io, thread};

use tessera::Role;
use tessera::handshake::Checked;
use tessera::{ClientConfig, ServerConfig};
use tessera_cache::measured::{self, Meter};

use super::ends::Ends;
use super::report::{CacheMemory, End, EntryContent, LargeCache, Memory, Peak};
use super::way::CertificateWay;
use crate::certificates::{Certificates, Parties, Party};
use crate::clock;
use crate::components;
use crate::endpoint::Result;
use crate::error::LabError;
use crate::heap;
use crate::in_memory::connect_to;
use crate::pki::SERVER_NAME;

/// The numbers of remembered peers at which memory is measured.
pub(super) const ENTRIES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// How many certificates each end sends.
const CHAIN: usize = 3;

/// The ways in which peers are remembered: by verifiers alone, and by caches with them.
pub(super) const WAYS: [CertificateWay; 2] = [CertificateWay::Known, CertificateWay::Cached];

/// Measures how the memory of one end grows with each peer that it meets.
pub(super) fn measure(
    way: CertificateWay,
    parties: &Parties,
    peers: &Peers,
    end: End,
) -> Result<Memory> {
    // The peers share one set of caches. They have met that end before, often enough to remember it; so only the
    // measured end grows, which has met no peer yet.
    let [others, own] = [Ends::new(way, parties)?, Ends::new(way, parties)?];
    let of_end = match end {
        End::Client => &peers.servers,
        End::Server => &peers.clients,
    };
    let configured = of_end.iter().map(|peer| {
        let before = others.against(peer, end, &others)?;
        Ok((before, own.against(peer, end, &others)?))
    });
    let configured: Vec<(NamedConfigs<'_>, NamedConfigs<'_>)> =
        configured.collect::<Result<_>>()?;
    for (before, _) in &configured {
        meet(before)?;
    }
    let before = heap::held_by_thread()?;
    let mut held = Vec::new();
    for (number, (_, now)) in configured.iter().enumerate() {
        meet(now)?;
        if ENTRIES.contains(&(number + 1)) {
            let bytes = heap::held_by_thread()? - before;
            held.push(CacheMemory { entries: number + 1, bytes, peak: None });
        }
    }
    if held.iter().all(|it| it.bytes == 0) {
        return Err(heap::NO_ALLOCATOR.into());
    }
    peaks_beside(way, parties, of_end, end, &mut held)?;
    let certificates = parties.certificates;
    Ok(Memory { way, certificates, end, chain: CHAIN, held })
}

/// Returns the certificates with which very many clients are measured: with others, half a gigabyte would hold fewer.
pub(super) fn of_many(asked: &[Certificates]) -> impl Iterator<Item = Certificates> + use<> {
    asked.contains(&Certificates::P256).then_some(Certificates::P256).into_iter()
}

/// Measures the memory of a server's cache with this many clients, and the time of a lookup. In a separate thread,
/// whose counters begin with it.
pub(super) fn many(
    certificates: Certificates,
    kept: EntryContent,
    clients: u64,
) -> std::result::Result<LargeCache, LabError> {
    let failed =
        |error: String| LabError::Connection(format!("memory of {clients} clients: {error}"));
    let chain = Parties::new(certificates, CHAIN).map_err(|error| failed(error.to_string()))?;
    let chain = chain.client.chain;
    let own = match kept {
        EntryContent::Certificates => chain.first().map_or(0, Vec::len) as u64,
        EntryContent::Hashes => HASH,
    };
    let measuring = thread::spawn(move || -> io::Result<_> {
        // If the counters can't be read now, they can't be read later.
        heap::held_by_thread().and_then(|_| heap::most_held_by_thread())?;
        clock::thread_cpu()?;
        let processor = || clock::thread_cpu().unwrap_or_default().as_nanos() as u64;
        let meter = Meter {
            held: &|| heap::held_by_thread().unwrap_or_default(),
            most: &|| heap::most_held_by_thread().unwrap_or_default(),
            processor: &processor,
        };
        let kept = match kept {
            EntryContent::Certificates => measured::EntryContent::Certificates,
            EntryContent::Hashes => measured::EntryContent::Hashes,
        };
        Ok(measured::measure(&tessera_aws_lc::provider(), &chain, kept, clients, meter))
    });
    let measured = measuring.join().map_err(|_| failed("the thread failed".to_owned()))?;
    let measured = measured.map_err(|error| failed(error.to_string()))?;
    let measured =
        measured.ok_or_else(|| failed("the random number generator failed".to_owned()))?;
    if measured.held == 0 {
        return Err(failed(heap::NO_ALLOCATOR.to_owned()));
    }
    Ok(LargeCache {
        kept,
        certificates,
        clients,
        own,
        own_allocated: allocated(own),
        held: measured.held,
        most: measured.most,
        learned_ns: measured.learned,
        renewed_ns: measured.renewed,
        known_ns: measured.known,
        unknown_ns: measured.unknown,
    })
}

/// The hash of a chain, in bytes.
const HASH: u64 = 32;

/// Returns the size that jemalloc allocates for this many bytes: it has four size classes between a power of two and
/// the next, from 64 on, and multiples of 16 below.
fn allocated(bytes: u64) -> u64 {
    let below = bytes.saturating_sub(1).checked_ilog2().map_or(1, |log| 1 << log);
    bytes.next_multiple_of((below / 4).max(16))
}

/// As many other ends as can be remembered.
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

/// Measures the peak memory of each end: in full handshakes, in the first with empty caches, and in later ones.
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
        drop(ends);
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

/// Measures the peak memory of an end, in connections with one peer more than it remembers by then. All of it is
/// allocated and freed in the thread of these connections: the counters would miss what another thread frees.
fn peaks_beside(
    way: CertificateWay,
    parties: &Parties,
    peers: &[Party],
    end: End,
    held: &mut [CacheMemory],
) -> Result<()> {
    for held in held {
        let [others, own] = [Ends::new(way, parties)?, Ends::new(way, parties)?];
        let configs = match end {
            End::Client => ((*own.client).clone(), (*others.server).clone()),
            End::Server => ((*others.client).clone(), (*own.server).clone()),
        };
        let peers: Vec<_> = peers.iter().take(held.entries).cloned().collect();
        let (told, heard) = mpsc::channel();
        let is_first = Cell::new(true);
        let before = move || {
            if is_first.replace(false) {
                let met = peers.iter().try_for_each(|peer| meet(&own.against(peer, end, &others)?));
                // The receiver waits for the end of this thread.
                let _ = told.send(met.map_err(|error| error.to_string()));
            }
        };
        let [of_client, of_server] = components::peaks(configs, before)?;
        heard.recv()??;
        let most = match end {
            End::Client => of_client,
            End::Server => of_server,
        };
        held.peak = Some(held.bytes + most);
    }
    Ok(())
}

impl Ends {
    /// Returns one of these ends and a peer, which shares the caches of `others`.
    fn against<'a>(&self, peer: &'a Party, end: End, others: &Self) -> Result<NamedConfigs<'a>> {
        Ok(match end {
            End::Client => (peer.name.as_str(), self.client.clone(), others.server_of(peer)?),
            End::Server => (SERVER_NAME, others.client_of(peer)?, self.server.clone()),
        })
    }
}

type NamedConfigs<'a> = (&'a str, Checked<ClientConfig>, Checked<ServerConfig>);

fn meet((name, client, server): &NamedConfigs<'_>) -> Result<()> {
    connect_to(name, client.clone(), server.clone(), None, 0).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "heap")]
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
                let peaks: Vec<_> =
                    memory.held.iter().map(|it| it.peak.unwrap() - it.bytes).collect();
                assert!(peaks.iter().all(|peak| (2_000..99_000).contains(peak)), "{peaks:?}");
            }
        }
    }

    #[cfg(feature = "heap")]
    #[test]
    fn a_server_keeps_certificates_or_hashes_of_many_clients() {
        let [whole, hashes] = [EntryContent::Certificates, EntryContent::Hashes]
            .map(|kept| many(Certificates::P256, kept, 20_000).unwrap());
        assert_eq!((whole.clients, hashes.own, hashes.own_allocated), (20_000, 32, 32));
        for many in [&whole, &hashes] {
            assert!((40.0..80.0).contains(&many.beside()), "{many:?}");
            // jemalloc may have missed 64 KiB of the most.
            assert!(many.most + 65_536 >= many.held && many.known_ns > 0.0, "{many:?}");
        }
        assert!(whole.held > hashes.held + 20_000 * 300);
    }

    #[test]
    fn an_allocation_has_the_next_size_that_jemalloc_has() {
        for (bytes, size) in [(1, 16), (32, 32), (65, 80), (448, 448), (467, 512), (513, 640)] {
            assert_eq!(allocated(bytes), size, "{bytes}");
        }
    }

    #[cfg(feature = "heap")]
    #[test]
    #[ignore = "takes some seconds, and half a gigabyte"]
    fn a_million_clients_fit_into_64_bytes_each_next_to_their_certificates() {
        for kept in [EntryContent::Certificates, EntryContent::Hashes] {
            let many = many(Certificates::P256, kept, 1_000_000).unwrap();
            assert!(many.held < 1 << 30 && many.beside() <= 64.0, "{many:?}");
        }
    }

    #[cfg(feature = "heap")]
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
