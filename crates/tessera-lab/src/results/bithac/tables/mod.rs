//! The measurements, as tables.

mod bytes;
mod datagrams;
mod energy;
mod memory;
mod setting;
mod times;
mod work;

pub(super) use self::bytes::{directions, ip, tls};
pub(super) use self::datagrams::{
    datagram_directions, datagram_packets, datagram_times, datagrams, datagrams_resent,
};
pub(super) use self::energy::energy;
pub(super) use self::memory::{fullest, many, memory, peaks};
pub(super) use self::setting::{chains, failed, setting, ways};
pub(super) use self::times::{losses, times};
pub(super) use self::work::{ends, hits, uncounted, work};

use super::input::Inputs;
use super::targets::ratio;
use crate::bithac::report::Part;
use crate::bithac::table::{is_more, of_full};
use crate::bithac::{CertificateWay, Certificates};
use crate::numbers::fixed;
use crate::table::{Cell, Table};

/// The ways that an observer can distinguish, in the order of columns.
const WAYS: [CertificateWay; 13] = [
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
    CertificateWay::KnownKey,
    CertificateWay::PskDhe,
    CertificateWay::ZeroRttFs,
];

const MTUS: [u16; 3] = [1500, 576, 127];

/// Returns a table with a column for each way.
fn by_way(caption: &str, first: &str) -> Table {
    Table::with_note(caption, first).and(WAYS.map(CertificateWay::name))
}

/// Returns a number of each way, with its share of the full handshake's.
fn shares(of: impl Fn(CertificateWay) -> Option<f64>) -> [Cell; WAYS.len()] {
    let full = of(CertificateWay::Full);
    WAYS.map(|way| match (of(way), ratio(of(way), full)) {
        (Some(value), Some(share)) if way != CertificateWay::Full => {
            Cell::from(format!("{} ({share:.3})", fixed(value, 0))).bad_if(is_more(share))
        }
        (value, _) => value.map(|value| fixed(value, 0)).into(),
    })
}

fn of_report(inputs: &Inputs) -> impl Iterator<Item = Certificates> {
    let is_there = |certificates: &Certificates| {
        inputs.cells(Part::Bytes).any(|cell| cell.name.certificates == *certificates)
    };
    Certificates::ALL.into_iter().filter(move |it| is_there(it))
}
