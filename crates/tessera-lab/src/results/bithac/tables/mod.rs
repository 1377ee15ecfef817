//! The measurements, as tables.

mod bytes;
mod energy;
mod memory;
mod setting;
mod times;
mod work;

pub(super) use self::bytes::{directions, ip, tls};
pub(super) use self::energy::energy;
pub(super) use self::memory::{fullest, many, memory, peaks};
pub(super) use self::setting::{chains, failed, setting, ways};
pub(super) use self::times::{losses, times};
pub(super) use self::work::{ends, hits, uncounted, work};

use super::input::Inputs;
use super::targets::ratio;
use crate::bithac::report::{Cell, Part, Sample};
use crate::bithac::table::median as of_cell;
use crate::bithac::{CertificateWay, Certificates};
use crate::experiment;
use crate::results::numbers::nothing;
use crate::results::table::Table;

/// The ways that an observer can distinguish, in the order of columns.
const WAYS: [CertificateWay; 12] = [
    CertificateWay::Full,
    CertificateWay::Zlib,
    CertificateWay::Rfc7924,
    CertificateWay::Paper,
    CertificateWay::PaperFirst,
    CertificateWay::PaperMiss,
    CertificateWay::Cached,
    CertificateWay::CachedFirst,
    CertificateWay::CachedMiss,
    CertificateWay::RawKeys,
    CertificateWay::PskDhe,
    CertificateWay::ZeroRttFs,
];

const MTUS: [u16; 3] = [1500, 576, 127];

/// Returns a table with a column for each way.
fn by_way(caption: &str, first: &str) -> Table {
    let names = WAYS.iter().map(|way| way.name());
    let columns: Vec<_> = [first].into_iter().chain(names).collect();
    Table::new(caption, &columns)
}

/// Returns a number of each way, with its share of the full handshake's.
fn shares(of: impl Fn(CertificateWay) -> Option<f64>) -> [String; WAYS.len()] {
    let full = of(CertificateWay::Full);
    WAYS.map(|way| match (of(way), ratio(of(way), full)) {
        (Some(value), Some(share)) if way != CertificateWay::Full => {
            format!("{value:.0} ({share:.3})")
        }
        (Some(value), _) => format!("{value:.0}"),
        _ => nothing(),
    })
}

fn of_report(inputs: &Inputs) -> impl Iterator<Item = Certificates> {
    let is_there = |certificates: &Certificates| {
        inputs.cells(Part::Bytes).any(|cell| cell.name.certificates == *certificates)
    };
    Certificates::ALL.into_iter().filter(move |it| is_there(it))
}

fn spread(cell: &Cell, value: fn(&Sample) -> f64) -> String {
    of_cell(cell, value).map_or_else(nothing, |median| experiment::spread(&median))
}
