//! Bytes, by way, layer and direction.

use super::{MTUS, WAYS, by_way, of_report, shares};
use crate::bithac::CertificateWay;
use crate::results::bithac::input::Inputs;
use crate::table::{Cell, Table};

/// Bytes of TLS by way.
pub(in crate::results::bithac) fn tls(inputs: &Inputs) -> Option<Table> {
    let mut table = by_way(
        "TLS records of a handshake, both directions, in bytes, and as a share of the full one's: neither data nor \
         tickets nor the alert at the end. MTU 1500; the others differ by nothing but the length of an ECDSA \
         signature.",
        "keys",
    );
    for certificates in of_report(inputs) {
        let of = |way| Some(inputs.bytes(way, certificates, 1500)?.handshake_bytes() as f64);
        table.row(certificates.name(), shares(of));
    }
    table.unless_empty()
}

/// Bytes of whole packets by way and MTU.
pub(in crate::results::bithac) fn ip(inputs: &Inputs) -> Option<Table> {
    let mut table = by_way(
        "IP packets of a connection, both directions, in bytes, and as a share of the full handshake's: from the SYN to \
         the end, with a message of 16 bytes each way, and a new ticket in psk-dhe and 0rtt-fs.",
        "keys, MTU",
    );
    for certificates in of_report(inputs) {
        for mtu in MTUS {
            let of = |way| Some(inputs.bytes(way, certificates, mtu)?.ip_bytes() as f64);
            if of(CertificateWay::Full).is_some() {
                table.row(format!("{certificates}, {mtu}"), shares(of));
            }
        }
    }
    table.unless_empty()
}

/// Bytes by direction and layer.
pub(in crate::results::bithac) fn directions(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "By direction, MTU 1500, in bytes: the records of the handshake, all records, all packets, and how many of \
         these.",
        "keys, way | certificates travel in | client: handshake | TLS | IP+TCP+TLS | packets | \
         server: handshake | TLS | IP+TCP+TLS | packets",
    );
    for certificates in of_report(inputs) {
        for way in WAYS {
            let Some(sample) = inputs.bytes(way, certificates, 1500) else { continue };
            let sides = [sample.client, sample.server];
            let cells = sides.map(|it| [it.handshake, it.tls, it.ip, it.packets]);
            let cells = cells.as_flattened().iter().map(|bytes| Cell::from(*bytes));
            table.row(
                format!("{certificates}, {way}"),
                [way.form().into()].into_iter().chain(cells),
            );
        }
    }
    table.unless_empty()
}
