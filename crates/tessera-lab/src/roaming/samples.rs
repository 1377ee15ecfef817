//! Cells for tests.

use tessera_reports::roaming::{Bytes, Cell, CellName, RoundTrips};
use tessera_reports::{Sample, Sides};

/// Returns a cell with this sample, repeated, and nothing else.
pub(crate) fn cell(name: CellName, sample: Sample, count: usize) -> Cell {
    Cell {
        name,
        samples: vec![sample; count],
        failed: 0,
        why_failed: [].into(),
        round_trips: RoundTrips { first_byte: Some(1.5), response: Some(2.0) },
        bytes: Bytes::default(),
        operations: Sides::default(),
        issuing: None,
        registration: None,
        beside: 0,
        lateness: None,
    }
}
