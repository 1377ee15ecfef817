//! Times over links.

use super::{WAYS, by_way, of_full};
use crate::bithac::report::Part;
use crate::bithac::table::median;
use crate::bithac::{CertificateWay, Certificates};
use crate::numbers::{fixed, number};
use crate::results::bithac::input::Inputs;
use crate::results::bithac::targets::ratio;
use crate::table::{Table, cells};
use crate::wired::{LinkName, Sample};

/// Times over named links.
pub(in crate::results::bithac) fn times(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Milliseconds from connect() until the client's first data leaves, until its handshake is complete, and until it \
         has the server's message: medians, and how far they may be off (95 %). To a server that authenticates with a KEM \
         the first data leaves when its Certificate is accepted, by a policy (docs/kem-auth.md 7); the server is \
         authenticated explicitly when the handshake is complete, as with signatures. The last column is the response's \
         share of the full handshake's.",
        "link, keys, way | connections | first data | handshake | response | of full",
    );
    for cell in inputs.cells(Part::Times) {
        let name = &cell.name;
        let response = |sample: &Sample| sample.response_us;
        let own = inputs.median(name, name.way, response);
        let share = ratio(own, inputs.median(name, CertificateWay::Full, response));
        table.row(
            format!("{}, {}, {}", name.link.words(), name.certificates, name.way),
            cells![
                cell.samples.len(),
                median(cell, |sample| sample.sendable_us() / 1e3),
                median(cell, |sample| sample.handshake_us / 1e3),
                median(cell, |sample| sample.response_us / 1e3),
                of_full(share),
            ],
        );
    }
    table.unless_empty()
}

/// Links that lose packets.
pub(in crate::results::bithac) fn losses(inputs: &Inputs) -> Option<Table> {
    let mut table = by_way(
        "Over links of 1 Mbit/s and a round-trip time of 50 ms that lose packets: milliseconds until the client has the \
         server's message, and in brackets the bytes of all packets, those that TCP sent again included. Medians of \
         the few connections of a cell (a fifth as many as for the times): one that lost its SYN stands out.",
        "keys, loss, MTU",
    );
    let mut rows: Vec<(Certificates, LinkName)> = Vec::new();
    for cell in inputs.cells(Part::Losses) {
        let row = (cell.name.certificates, cell.name.link.clone());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    for (certificates, link) in rows {
        let cells = WAYS.map(|way| {
            let cell = inputs.cells(Part::Losses).find(|cell| {
                (cell.name.way, cell.name.certificates) == (way, certificates)
                    && cell.name.link == link
            });
            cell.and_then(|cell| {
                let time = median(cell, |sample| sample.response_us / 1e3)?.value;
                let bytes = median(cell, |sample| sample.ip_bytes() as f64)?.value;
                Some(format!("{} ({})", number(time), fixed(bytes, 0)))
            })
        });
        table.row(format!("{certificates}, {} %, {}", link.loss * 1e2, link.mtu), cells);
    }
    table.unless_empty()
}
