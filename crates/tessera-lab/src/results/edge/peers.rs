//! Go with Envoy: bytes, times, and what they must be.

use tessera_reports::KeyExchange::{X25519, X25519MlKem768};

use super::input::Inputs;
use super::paper::{Flights, HEADER, flights};
use crate::certificates::Certificates::Rsa2048;
use crate::edge::EdgeWay::{Full, Resumed};
use crate::numbers::{count, fixed};
use crate::statistics::Median;
use crate::table::{Cell, Table, cells};

/// The cells.
pub(super) fn envoy(inputs: &Inputs) -> Option<Table> {
    let report = inputs.envoy.as_ref()?;
    let mut table = Table::with_note(
        format!(
            "Go ({}) as a client of two Envoys {} with one ticket key, over loopback: bytes of records, and µs from before \
             connect() until the handshake is complete. Each sample is the mean of {} connections.",
            report.go, report.envoy, report.connections
        ),
        "keys, way, group | ClientHello | flight | tickets | both flights | of full | all of the client | handshake, µs",
    );
    for it in &report.cells {
        let full = inputs.envoy(Full, it.kx, it.certificates);
        let share = full.map(|full| fixed(it.flights() as f64 / full.flights() as f64, 3));
        table.row(
            format!("{}, {}, {}", it.certificates, it.way, it.kx.registered_name()),
            cells![
                it.hello,
                it.server,
                it.tickets,
                it.flights(),
                share,
                it.client,
                Median::of(it.handshake_us.iter().copied()),
            ],
        );
    }
    table.unless_empty()
}

/// How far bytes may be off that names in certificates change.
const NEAR: f64 = 0.02;

/// What the bytes must be.
pub(super) fn targets(inputs: &Inputs) -> Option<Table> {
    inputs.envoy.as_ref()?;
    let of = |way, kx| flights(inputs, way, kx, Rsa2048);
    let envoy = |way, kx| of(way, kx)[0];
    let mut table = Table::with_note(
        "Bytes of Go and Envoy with RSA-2048 against an earlier measurement of the same versions (within 2 %, since names \
         in certificates count), and the identity of a resumption: its ClientHello is longer by the ticket, the binder and \
         15 bytes (RFC 8446 §4.2.11).",
        "what | measured | to be | is so",
    );
    let mut row = |what: &str, measured: Option<u64>, expected: u64, near: f64| {
        let is_so = measured.map(|it| (it as f64 / expected as f64 - 1.0).abs() <= near);
        let words = is_so.map(|is_so| if is_so { "yes" } else { "no" });
        let cells = cells![
            measured.map(|it| format!("{} B", count(it))),
            format!("{} B", count(expected)),
            Cell::from(words).bad_if(is_so == Some(false)),
        ];
        table.row(what, cells);
    };
    let hello = |it: Flights| it.hello - HEADER;
    let both = |it: Flights| it.hello + it.flight;
    row("ClientHello, X25519", envoy(Full, X25519).map(hello), 265, NEAR);
    row("ClientHello, X25519MLKEM768", envoy(Full, X25519MlKem768).map(hello), 1449, NEAR);
    row("the proxy's flight, X25519", envoy(Full, X25519).map(|it| it.flight), 2113, NEAR);
    row(
        "the proxy's flight, X25519MLKEM768",
        envoy(Full, X25519MlKem768).map(|it| it.flight),
        3201,
        NEAR,
    );
    row("resumed, X25519: both flights", envoy(Resumed, X25519).map(both), 743, NEAR);
    row(
        "resumed, X25519MLKEM768: both flights",
        envoy(Resumed, X25519MlKem768).map(both),
        3015,
        NEAR,
    );
    row("tickets after each handshake", envoy(Resumed, X25519).map(|it| it.tickets), 482, 0.0);
    for kx in [X25519, X25519MlKem768] {
        let ticket = inputs.envoy(Resumed, kx, Rsa2048).map_or(0, |it| it.ticket);
        let growth = envoy(Full, kx)
            .zip(envoy(Resumed, kx))
            .map(|(full, resumed)| resumed.hello.saturating_sub(full.hello));
        // A binder of SHA-256.
        let what = format!("a ticket adds to the ClientHello, {}", kx.registered_name());
        row(&what, growth, ticket + 32 + 15, 0.0);
    }
    Some(table)
}
