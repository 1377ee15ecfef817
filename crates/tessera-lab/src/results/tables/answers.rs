//! The paper's questions, each with our figure, the paper's, and whether a target was reached.

use std::array;

use super::{latency, links, load, targets};
use crate::results::input::Inputs;
use crate::table::{Cell, Table, cells};

/// One row of each option, by the beginning of its name.
const OPTIONS: [&str; 5] = [
    "(a) full handshake, X25519",
    "(b) PSK only",
    "(c) PSK with key exchange, X25519",
    "(d) 0-RTT, no register, X25519",
    "(e) 0-RTT FS, X25519, psk_dhe_ke",
];

/// The answers, in the order of the paper's sections.
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "The paper's figures next to ours. Each row of the targets summarises those of one kind, from the lowest to the \
         highest number measured.",
        "question | here | the paper | target | reached",
    );
    if let Some(table_5) = latency::table_5(inputs) {
        for option in OPTIONS {
            let columns = ["total", "factor", "paper: total", "paper: factor"];
            let Some([here, factor, paper, papers]) = texts(&table_5, option, columns) else {
                continue;
            };
            let cells = cells![format!("{here}; {factor}"), format!("{paper}; {papers}"), "", ""];
            table.row(format!("Table 5: total in µs, and factor to (d): {option}"), cells);
        }
    }
    if let Some(far) = links::seoul_los_angeles(inputs) {
        for option in OPTIONS {
            if let Some([here]) = texts(&far, option, ["first byte accepted"]) {
                let question = format!("134 ms: first byte accepted after, in ms: {option}");
                table.row(question, cells![here, "", "", ""]);
            }
        }
    }
    if let Some(memory) = load::memory(inputs) {
        for option in OPTIONS {
            let of = |side| {
                let row = format!("{option}, resumed, {side}");
                let [bytes, paper] = texts(&memory, &row, ["all", "paper, KB"])?;
                Some((format!("{bytes} at the {side}"), paper))
            };
            let sides: Vec<_> = ["client", "server"].into_iter().filter_map(of).collect();
            let Some((_, paper)) = sides.first() else { continue };
            let is_number = paper.starts_with(|c: char| c.is_ascii_digit());
            let paper = if is_number { format!("{paper} KB") } else { paper.clone() };
            let here: Vec<_> = sides.into_iter().map(|(bytes, _)| bytes).collect();
            let question = format!("Fig. 10: bytes of a resumed connection: {option}");
            table.row(question, cells![here.join(", "), paper, "", ""]);
        }
    }
    for targets::Summary { question, here, target, reached, all } in targets::summaries(inputs) {
        let of_all = Cell::from(format!("{reached} of {all}")).bad_if(reached < all);
        table.row(question, cells![here, "", target, of_all]);
    }
    table.unless_empty()
}

/// Returns the texts of a row in these columns.
fn texts<const N: usize>(table: &Table, row: &str, columns: [&str; N]) -> Option<[String; N]> {
    let row = table.rows.iter().find(|it| it.names[0].words() == row)?;
    let place = |name: &str| {
        let names = table.columns.iter().skip(table.names).map(|column| &column.name);
        names.into_iter().position(|it| it == name)
    };
    let places = columns.map(|name| place(name).and_then(|index| row.cells.get(index)));
    if places.iter().any(Option::is_none) {
        return None;
    }
    Some(array::from_fn(|index| places[index].map(Cell::text).unwrap_or_default()))
}
