//! What samples of connections show.

use tessera_reports::{Sample, Summary};

use crate::evidence::{Cell, Link, Setup, Way};

/// Returns a cell with these samples and this many failed connections, and nothing else. Failed ones took longer than
/// all that succeeded; their work is unknown.
pub(super) fn cell(way: Way, samples: &[Sample], failed: usize) -> Cell {
    let of = |value: fn(&Sample) -> Option<f64>| Summary::of(samples.iter().filter_map(value));
    let until = |value: fn(&Sample) -> Option<f64>| {
        Summary::beside_failed(samples.iter().filter_map(value), failed)
    };
    Cell {
        way,
        suite: None,
        through: Setup::Endpoints,
        link: Link::default(),
        failed,
        first_byte_us: until(|sample| sample.first_byte_us),
        handshake_us: until(|sample| sample.handshake_us),
        response_us: until(|sample| sample.response_us),
        client_engine_us: of(|sample| sample.client_engine_us),
        server_engine_us: of(|sample| sample.server_engine_us),
        client_cpu_us: of(|sample| sample.client_cpu_us),
        server_cpu_us: of(|sample| sample.server_cpu_us),
        client_bytes: None,
        server_bytes: None,
        first_flight: None,
        issuing: None,
        with_issuing: false,
    }
}
