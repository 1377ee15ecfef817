//! The parts of a reconnection: operations, bytes, and its ticket.

use tessera_reports::roaming::{Bytes, Operation, Setup};

use crate::names;
use crate::numbers::{number, plain};
use crate::results::input::Inputs;
use crate::table::{Table, cells};

/// The time of each kind of operation, by side.
pub(super) fn operations(inputs: &Inputs) -> Option<Table> {
    let cells: Vec<_> = inputs.plain(Setup::Engine).collect();
    let mut kinds: Vec<&str> = Vec::new();
    for cell in &cells {
        for Operation { operation, .. } in
            cell.operations.client.iter().chain(&cell.operations.server)
        {
            if !kinds.contains(&operation.as_str()) {
                kinds.push(operation);
            }
        }
    }
    let mut table = Table::with_note(
        "How often each operation runs in one reconnection, and how many µs all of its kind take together: \
         medians. What an end doesn't do is empty. (e) with psk_ke generates a key share that is not used, for a \
         server that wants a full handshake: with one-time PSKs one of X25519MLKEM768.",
        "option, side",
    )
    .and(kinds.iter().copied());
    for cell in cells {
        let name = names::variant(&cell.name.variant);
        for (side, operations) in
            [("client", &cell.operations.client), ("server", &cell.operations.server)]
        {
            let of = |kind: &&str| {
                let found = operations.iter().find(|done| done.operation == *kind);
                found.map_or_else(String::new, |it| {
                    format!("{}× {}", plain(it.count), number(it.us))
                })
            };
            if !operations.is_empty() {
                table.row(format!("{name}: {side}"), kinds.iter().map(of));
            }
        }
    }
    table.unless_empty()
}

/// Bytes on the way.
pub(super) fn bytes(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Bytes that each side sends over TCP in one reconnection: request, response and goodbye included, new \
         tickets not; medians. (e) with psk_ke sends a key share that is not used, for a server that wants a full \
         handshake: with one-time PSKs one of X25519MLKEM768, 1,216 bytes.",
        "option | client | of these in the first flight | server | both",
    );
    for cell in inputs.plain(Setup::Engine) {
        let Bytes { client, server, first_flight } = cell.bytes;
        let both = client.zip(server).map(|(client, server)| client + server);
        table.row(names::variant(&cell.name.variant), [client, first_flight, server, both]);
    }
    table.unless_empty()
}

/// Tickets, which were made beforehand and are in no sample.
pub(super) fn issuing(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "One ticket, made beforehand and in none of the other numbers: µs in the engines, the store included, \
         and bytes on the way.",
        "option | server, µs | client, µs | bytes",
    );
    for cell in inputs.plain(Setup::Engine) {
        let Some(issuing) = &cell.issuing else { continue };
        let cells = cells![issuing.server_us, issuing.client_us, issuing.bytes];
        table.row(names::variant(&cell.name.variant), cells);
    }
    table.unless_empty()
}
