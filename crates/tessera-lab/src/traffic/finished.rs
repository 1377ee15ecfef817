//! The recordings that a run has finished, and whether a journal's are such.

use serde::{Deserialize, Serialize};

use super::report::Flow;
use crate::variants::PaperOption;

/// All flows of one round-trip time and one padding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) rtt_ms: f64,
    pub(super) padding: Option<u16>,
    pub(super) flows: Vec<Flow>,
}

/// The longest that a flow lasts, in microseconds: all patience ends far earlier.
const LONGEST_US: u64 = 3_600_000_000;
/// The longest TLS record with its header, in bytes (RFC 8446 §5.2).
const LONGEST_RECORD: u64 = 5 + (1 << 14) + 256;

/// Returns the name of a cell with this many flows of each option.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn check(cell: &Cell, repetitions: usize) -> Result<String, String> {
    let Cell { rtt_ms, padding, flows } = cell;
    let padding_words = padding.map_or_else(|| "none".to_owned(), |padding| padding.to_string());
    let name = format!("{rtt_ms} ms, padding {padding_words}");
    for option in PaperOption::ALL {
        let count = flows.iter().filter(|flow| flow.variant.option == option).count();
        if count != repetitions {
            let letter = option.letter();
            return Err(format!("{name} has {count} flows of ({letter}), not {repetitions}"));
        }
    }
    if !flows.iter().all(|flow| (&flow.rtt_ms, &flow.padding) == (rtt_ms, padding)) {
        return Err(format!("{name} has flows of another link or padding"));
    }
    match flows.iter().position(|flow| !can_be(flow)) {
        Some(index) => Err(format!("flow {} of {name} is impossible", index + 1)),
        None => Ok(name),
    }
}

/// Whether a flow has records in the order of their times, and each is a TLS record.
fn can_be(flow: &Flow) -> bool {
    let records = &flow.sizes_and_times;
    let is_record = |(size, us): &(i64, u64)| {
        (1..=LONGEST_RECORD).contains(&size.unsigned_abs()) && *us <= LONGEST_US
    };
    !records.is_empty()
        && records.iter().all(is_record)
        && records.is_sorted_by_key(|(_, us)| *us)
        && flow.plaintext.iter().all(|place| *place < records.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::samples;
    use crate::variants::Variant;

    fn cell() -> Cell {
        let flows = PaperOption::ALL.map(|option| {
            let variant = Variant::all().into_iter().find(|variant| variant.option == option);
            samples::flow(variant.unwrap().mode, vec![(500, 0), (-900, 7)])
        });
        Cell { rtt_ms: 0.0, padding: None, flows: [flows.clone(), flows].concat() }
    }

    #[test]
    fn only_a_cell_with_all_of_its_flows_is_finished() {
        assert_eq!(check(&cell(), 2).unwrap(), "0 ms, padding none");
        let refused = |change: fn(&mut Cell), words: &str| {
            let mut cell = cell();
            change(&mut cell);
            let refusal = check(&cell, 2).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        };
        refused(|cell| cell.flows.clear(), "0 flows of (a), not 2");
        refused(|cell| drop(cell.flows.pop()), "1 flows of (e)");
        refused(|cell| cell.rtt_ms = 33.0, "another link");
        refused(|cell| cell.flows[3].padding = Some(512), "or padding");
        refused(|cell| cell.flows[3].sizes_and_times.clear(), "flow 4 of");
        refused(|cell| cell.flows[0].sizes_and_times[1] = (-900_000, 7), "flow 1 of");
        refused(|cell| cell.flows[0].sizes_and_times[0] = (500, 8), "flow 1 of");
        refused(|cell| cell.flows[0].plaintext = vec![2], "flow 1 of");
    }
}
