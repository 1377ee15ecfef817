//! Where an option begins to pay off, by the break-even of `tessera-advise`.

use tessera_advise::break_even::{
    BreakEven, Conditions, Costs, Curve, Renewal, ResponseCurve, Ticket, gain_us,
    reconnections_per_hour, round_trip_ms,
};
use tessera_reports::roaming::{Cell as RoamingCell, IssuingCost, Setup};
use tessera_reports::{KeyExchange, Letter, OneTimeKey, Sample, Variant};

use crate::names;
use crate::numbers::plain;
use crate::results::input::{Inputs, variants};
use crate::results::numbers::{self, Field};
use crate::table::{Cell, Table, cells};

/// Where the table looks: between Seoul and Los Angeles.
const FAR_MS: f64 = 134.0;
/// The lifetimes of tickets, in hours.
const LIFETIMES: [f64; 2] = [1.0, 24.0];

/// Each option that resumes, compared with the two that the paper's Table 6 calls acceptable: (a) and (c).
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        format!(
            "A microsecond of processor time counts as much as one of waiting; one request waits for the \
             connection; the server renews each ticket that expires. What one reconnection gains at {FAR_MS} ms; \
             the round-trip time from which on it gains anything; and from how many reconnections an hour on \
             it pays at {FAR_MS} ms, by the lifetime of tickets in hours."
        ),
        "option against baseline | gain, ms | from RTT, ms | lifetime 1: from, an hour | lifetime 24: from",
    );
    let variants = variants(inputs.plain(Setup::Endpoints));
    for baseline in [Letter::A, Letter::C] {
        for candidate in &variants {
            if candidate.option == Letter::A || candidate.option == baseline {
                continue;
            }
            let group = group(candidate);
            let alike = |it: &&Variant| it.option == baseline && it.kx == Some(group);
            let Some(baseline) = variants.iter().find(alike) else { continue };
            if let Some(cells) = row(inputs, candidate, baseline) {
                let (one, other) = (names::variant(candidate), names::variant(baseline));
                table.row(format!("{one} against {other}"), cells);
            }
        }
    }
    table.unless_empty()
}

fn row(inputs: &Inputs, candidate: &Variant, baseline: &Variant) -> Option<Vec<Cell>> {
    let (candidate, baseline) = (costs(inputs, candidate)?, costs(inputs, baseline)?);
    let conditions = |lifetime| Conditions {
        round_trip_ms: FAR_MS,
        waiting_requests: 1.0,
        processor_price: 1.0,
        at_home: 1.0,
        ticket_lifetime_hours: lifetime,
        renewal: Renewal::WheneverExpired,
    };
    let [hour, day] = LIFETIMES.map(conditions);
    let from = |conditions| pays(reconnections_per_hour(&candidate, &baseline, conditions));
    Some(cells![
        gain_us(&candidate, &baseline, &hour) / 1e3,
        pays(round_trip_ms(&candidate, &baseline, &hour)),
        from(&hour),
        from(&day),
    ])
}

/// Returns the cost of a variant over links that only have a round-trip time; `None` if it was not measured, or at one
/// round-trip time only.
fn costs(inputs: &Inputs, variant: &Variant) -> Option<Costs> {
    let cells: Vec<&RoamingCell> =
        inputs.plain(Setup::Endpoints).filter(|cell| cell.name.variant == *variant).collect();
    let points = |field: Field| {
        let points = cells
            .iter()
            .filter_map(|cell| Some((cell.name.link.rtt_ms, numbers::median(cell, field)?.value)));
        points.collect()
    };
    let work = |sample: &Sample| Some(sample.client_cpu_us? + sample.server_cpu_us?);
    let ticket = ticket(inputs, variant)?;
    let bytes = cells.first()?.bytes;
    Some(Costs {
        waiting_us: ResponseCurve::new(points(|sample| sample.response_us))?,
        processor_us: Curve::new(points(work))?.plus(ticket.processor_us),
        bytes: (bytes.client? + bytes.server?) as f64 + ticket.bytes,
        ticket,
    })
}

/// Returns the cost of a ticket, measured in the engine; a full handshake needs none. `None` if it was not measured: a
/// free ticket would flatter its option.
fn ticket(inputs: &Inputs, variant: &Variant) -> Option<Ticket> {
    if variant.option == Letter::A {
        return Some(Ticket::default());
    }
    let mut cells = inputs.cells(Setup::Engine).chain(inputs.cells(Setup::Endpoints));
    let issuing = cells.find_map(|cell| cell.issuing.filter(|_| cell.name.variant == *variant))?;
    let IssuingCost { server_us, client_us, bytes } = issuing;
    Some(Ticket { processor_us: server_us + client_us, bytes: bytes as f64, held_bytes: 0.0 })
}

/// Returns the group by which a variant is matched with one of its baseline.
fn group(variant: &Variant) -> KeyExchange {
    let of_key = variant.ticket_key.and_then(OneTimeKey::key_exchange);
    of_key.or(variant.kx).unwrap_or(KeyExchange::X25519)
}

fn pays(pays: BreakEven) -> Cell {
    match pays {
        BreakEven::Always => "always".into(),
        BreakEven::From(value) => plain(value).into(),
        BreakEven::Never => Cell::from("never").bad_if(true),
    }
}
