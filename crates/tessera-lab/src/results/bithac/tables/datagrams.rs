//! Handshakes over datagrams.

use super::{WAYS, by_way};
use crate::bithac::CertificateWay;
use crate::bithac::report::{CellName, DatagramCell, DatagramSamples};
use crate::bithac::table::{datagram_share, is_more};
use crate::numbers::fixed;
use crate::results::bithac::input::Inputs;
use crate::statistics::{Median, quantile};
use crate::table::{Cell, Table};

/// Bytes by way.
pub(in crate::results::bithac) fn datagrams(inputs: &Inputs) -> Option<Table> {
    let table = by_way(
        "IP packets of a handshake over datagrams (DTLS 1.3), both directions, in bytes, and as a share of the full \
         one's: lost packets, ACKs, the server's cookie, and a new ticket in psk-dhe and 0rtt-fs, but neither data, save \
         16 bytes of early data in 0rtt-fs, nor the end. At an MTU of 127 those 16 bytes have a datagram of their own, \
         which comes after the server's answer, so that it takes none of them. In virtual time, over links of 1 Mbit/s \
         and a round-trip time of 50 ms; one handshake where nothing is lost, and the median of several where packets \
         are.",
        "keys, loss, MTU",
    );
    by_link(inputs, table, |cell| {
        let share = datagram_share(cell, inputs.datagrams())?;
        let bytes = fixed(Median::of(cell.samples.bytes())?.value, 0);
        Some(if cell.name.way == CertificateWay::Full {
            bytes.into()
        } else {
            Cell::from(format!("{bytes} ({share:.3})")).bad_if(is_more(share))
        })
    })
}

/// Packets by way.
pub(in crate::results::bithac) fn datagram_packets(inputs: &Inputs) -> Option<Table> {
    let table = by_way(
        "Their IP packets, both directions: a datagram each, but for a HelloRetryRequest at an MTU of 127, which IP cuts.",
        "keys, loss, MTU",
    );
    by_link(inputs, table, |cell| Some(fixed(Median::of(cell.samples.packets())?.value, 0).into()))
}

/// Times by way.
pub(in crate::results::bithac) fn datagram_times(inputs: &Inputs) -> Option<Table> {
    let table = by_way(
        "Milliseconds until both ends are complete; where packets are lost, the median, and in brackets what 95 % of \
         the handshakes take at most. Computation takes no time.",
        "keys, loss, MTU",
    );
    by_link(inputs, table, |cell| with_quantile(cell, DatagramSamples::complete_ms(&cell.samples)))
}

/// What was sent again, by way.
pub(in crate::results::bithac) fn datagrams_resent(inputs: &Inputs) -> Option<Table> {
    let table = by_way(
        "Bytes of handshake messages that both ends sent again, without headers: the median, and in brackets what 95 % \
         of the handshakes send again at most.",
        "keys, loss, MTU",
    );
    by_link(inputs, table, |cell| with_quantile(cell, DatagramSamples::resent(&cell.samples)))
}

/// Bytes and packets by direction.
pub(in crate::results::bithac) fn datagram_directions(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "By direction, where nothing is lost: bytes of IP packets, and how many of these.",
        "keys, way, MTU | client: IP+UDP | packets | server: IP+UDP | packets",
    );
    for cell in inputs.datagrams().iter().filter(|cell| cell.name.link.loss == 0.0) {
        let CellName { way, certificates, link, .. } = &cell.name;
        let it = &cell.samples;
        let columns = [&it.client_bytes, &it.client_packets, &it.server_bytes, &it.server_packets];
        let cells = columns.map(|column| column.first().copied());
        table.row(format!("{certificates}, {way}, {}", link.mtu), cells);
    }
    table.unless_empty()
}

/// Formats a median, and the 95th percentile if there are several samples.
fn with_quantile(cell: &DatagramCell, values: impl Iterator<Item = f64> + Clone) -> Option<Cell> {
    let median = fixed(Median::of(values.clone())?.value, 0);
    let high = quantile(values, 0.95)?;
    let is_one = cell.samples.len() == 1;
    Some(if is_one { median.into() } else { format!("{median} ({})", fixed(high, 0)).into() })
}

/// Adds a row for each link and kind of certificates.
fn by_link(
    inputs: &Inputs,
    mut table: Table,
    of: impl Fn(&DatagramCell) -> Option<Cell>,
) -> Option<Table> {
    let is_one_row = |a: &DatagramCell, b: &DatagramCell| {
        (a.name.certificates, &a.name.link) == (b.name.certificates, &b.name.link)
    };
    for cells in inputs.datagrams().chunk_by(is_one_row) {
        let Some(CellName { certificates, link, .. }) = cells.first().map(|cell| &cell.name) else {
            continue;
        };
        let row = WAYS.map(|way| cells.iter().find(|cell| cell.name.way == way).and_then(&of));
        table.row(format!("{certificates}, {} %, {}", link.loss * 1e2, link.mtu), row);
    }
    table.unless_empty()
}
