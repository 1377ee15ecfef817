//! Cells for tests.

use std::collections::BTreeMap;

use super::report::{
    CacheMemory, Cell, CellName, DatagramCell, DatagramSamples, End, EntryContent, Hits,
    Instructions, LargeCache, Memory, Part, Peak, Work,
};
use super::way::CertificateWay;
use crate::certificates::Certificates;
use crate::wired::{LinkName, Sample, SentBytes};

/// Returns a cell with this many identical samples.
pub(crate) fn cell(part: Part, samples: usize) -> Cell {
    let link = LinkName { rtt_ms: 0.0, rate_bps: None, mtu: 1500, loss: 0.0 };
    let (way, certificates) = (CertificateWay::Full, Certificates::P256);
    let name = CellName { part, way, certificates, link };
    Cell { name, samples: vec![sample(1000, 2000); samples], why_failed: BTreeMap::new() }
}

/// Returns a connection with these handshake bytes at each end.
pub(crate) fn sample(client: u64, server: u64) -> Sample {
    let sent = |handshake| SentBytes {
        handshake,
        tls: handshake + 62,
        ip: handshake + 562,
        packets: 9,
        payload: handshake + 62,
    };
    Sample {
        tcp_us: 10.0,
        data_us: None,
        handshake_us: 20.0,
        response_us: 30.0,
        client_engine_us: 5.0,
        server_engine_us: 6.0,
        client: sent(client),
        server: sent(server),
    }
}

/// Returns handshakes over datagrams, which are alike.
pub(crate) fn datagrams(loss: f64, samples: usize) -> DatagramCell {
    let link = LinkName { rtt_ms: 50.0, rate_bps: Some(1_000_000), mtu: 127, loss };
    let (way, certificates) = (CertificateWay::Full, Certificates::P256);
    let name = CellName { part: Part::Datagrams, way, certificates, link };
    let samples = DatagramSamples {
        client_us: vec![150_000; samples],
        server_us: vec![200_000; samples],
        client_bytes: vec![3_000; samples],
        server_bytes: vec![4_000; samples],
        client_packets: vec![30; samples],
        server_packets: vec![40; samples],
        client_resent: vec![60; samples],
        server_resent: vec![0; samples],
    };
    DatagramCell { name, samples, why_failed: BTreeMap::new() }
}

/// Returns the computation of a way.
pub(crate) fn work() -> Work {
    Work {
        way: CertificateWay::Full,
        certificates: Certificates::P256,
        chain: 2,
        client_verifications: 3,
        server_verifications: 3,
        client_us: vec![100.0, 101.0],
        server_us: vec![110.0, 111.0],
        instructions: Some(Instructions::Retired { client: 1_200_000, server: 1_100_000 }),
    }
}

/// Connections of a rate, or full handshakes.
pub(crate) fn hits(rate: Option<u32>) -> Hits {
    let (certificates, hits) = (Certificates::P256, rate.map_or(0, |rate| rate / 50));
    let (client_us, server_us) = (vec![100.0, 101.0], vec![110.0, 111.0]);
    Hits { certificates, rate, hits, bytes: vec![1000, 3000], client_us, server_us }
}

/// Returns the memory of a client that remembers servers.
pub(crate) fn memory() -> Memory {
    let held = |entries| CacheMemory {
        entries,
        bytes: 100 * entries as i64 + 7,
        peak: Some(100 * entries as i64 + 9007),
    };
    Memory {
        way: CertificateWay::Cached,
        certificates: Certificates::P256,
        end: End::Client,
        chain: 3,
        held: [1, 8, 64].map(held).to_vec(),
    }
}

/// Returns a peak.
pub(crate) fn peak() -> Peak {
    let (way, certificates) = (CertificateWay::Full, Certificates::P256);
    Peak { way, certificates, chain: 3, client: 10_000, server: 12_000 }
}

/// Returns a server that keeps certificates of a million clients.
pub(crate) fn many() -> LargeCache {
    LargeCache {
        kept: EntryContent::Certificates,
        certificates: Certificates::P256,
        clients: 1_000_000,
        own: 467,
        own_allocated: 512,
        held: 575_300_000,
        most: 575_310_000,
        learned_ns: 2000.0,
        renewed_ns: 1500.0,
        known_ns: 600.0,
        unknown_ns: 300.0,
    }
}
