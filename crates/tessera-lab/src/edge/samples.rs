//! Results for tests.

use std::collections::BTreeMap;

use tessera_observed::Operation;
use tessera_reports::{KeyExchange, Machine};

use super::EdgeWay;
use super::report::{
    Cell, CellName, Chain, EndOperations, OperationSamples, Operations, Rate, Report, Rotation,
    RowName, Sample,
};
use crate::certificates::Certificates;
use crate::wired::{self, LinkName, SentBytes};

/// Returns a full handshake over a link without delay.
pub(crate) fn cell() -> Cell {
    let link = Some(LinkName { rtt_ms: 0.0, rate_bps: None, mtu: 1500, loss: 0.0 });
    let (way, kx, certificates) = (EdgeWay::Full, KeyExchange::X25519, Certificates::Rsa2048);
    let name = CellName { way, kx, certificates, link };
    let samples = vec![sample(200, 2000); 7];
    Cell { name, post_quantum: false, samples, why_failed: BTreeMap::new() }
}

/// Returns a connection with a ClientHello and a server's flight of these lengths, and a ticket of 200 bytes.
pub(crate) fn sample(hello: u64, flight: u64) -> Sample {
    let sent = |handshake: u64, more: u64| SentBytes {
        handshake,
        tls: handshake + more,
        ip: handshake + more + 500,
        packets: 9,
        payload: handshake + more,
    };
    let of = wired::Sample {
        tcp_us: 10.0,
        data_us: None,
        handshake_us: 2000.0,
        response_us: 3000.0,
        client_engine_us: 5.0,
        server_engine_us: 6.0,
        client: sent(hello + 64, 62),
        server: sent(flight, 62 + 200),
    };
    Sample { of, hello }
}

/// Returns an end with these operations, each of which takes 10 µs.
fn end(operations: &[Operation]) -> EndOperations {
    let operations = operations.iter().map(|operation| OperationSamples {
        operation: *operation,
        count: 1,
        us: vec![10.0; 7],
    });
    EndOperations { engine_us: vec![100.0; 7], operations: operations.collect() }
}

/// Returns operations of a full handshake: each takes 10 µs, at both ends.
pub(crate) fn operations() -> Operations {
    let (way, kx, certificates) = (EdgeWay::Full, KeyExchange::X25519, Certificates::Rsa2048);
    Operations {
        name: RowName { way, kx, certificates },
        client: end(&[
            Operation::KeyGeneration,
            Operation::Decapsulation,
            Operation::Verification,
            Operation::ProofVerification,
        ]),
        server: end(&[Operation::Encapsulation, Operation::Signature, Operation::TicketSealing]),
    }
}

/// Returns full handshakes at a rate of 100 a second, which take the proxy 2 ms each.
pub(crate) fn rate() -> Rate {
    Rate {
        name: operations().name,
        per_second: 100,
        held_per_second: 99.5,
        server_cpu_us: vec![2000.0; 7],
        server_engine_us: vec![1500.0; 7],
        why_failed: BTreeMap::new(),
    }
}

/// Returns a thousand moves while the ring rotated ten times.
pub(crate) fn rotation() -> Rotation {
    let name = RowName { way: EdgeWay::Resumed, ..operations().name };
    let why_failed = BTreeMap::new();
    Rotation { name, rotations: 10, resumed: 990, full: 10, seconds: 2.0, why_failed }
}

/// Returns a report with full and resumed handshakes and early data, with both groups.
pub(crate) fn report() -> Report {
    let mut cells = Vec::new();
    let mut rows = Vec::new();
    for (kx, more) in KeyExchange::ALL.into_iter().zip([0, 1200]) {
        for (way, hello, flight) in [
            (EdgeWay::Full, 200, 2000),
            (EdgeWay::Resumed, 450, 100),
            (EdgeWay::ZeroRttFs, 600, 100),
        ] {
            let mut cell = cell();
            (cell.name.way, cell.name.kx) = (way, kx);
            cell.samples = vec![sample(hello + more, flight + more); 7];
            let mut row = operations();
            (row.name.way, row.name.kx) = (way, kx);
            if way == EdgeWay::ZeroRttFs {
                // A companion has 150 bytes more than a ticket.
                for Sample { of, .. } in &mut cell.samples {
                    of.server.tls += 150;
                    of.server.payload += 150;
                    of.server.ip += 150;
                }
                row.server = end(&[Operation::OneTimeKeyGeneration, Operation::VaultPut]);
            }
            cells.push(cell);
            rows.push(row);
        }
    }
    Report {
        experiment: "edge".to_owned(),
        seed: 1,
        machine: Machine { cpu: "<b>".to_owned(), cores: 2, kernel: "Linux".to_owned() },
        load: Some(0.5),
        revision: None,
        link: Some("tun".to_owned()),
        connections: 100,
        chains: vec![Chain { certificates: Certificates::Rsa2048, server: vec![800, 790] }],
        cells,
        operations: rows,
        rates: vec![rate()],
        rotations: vec![rotation()],
    }
}
