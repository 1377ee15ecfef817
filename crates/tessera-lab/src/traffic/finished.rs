//! The recordings that a run has finished, and whether a journal's are such.

use serde::{Deserialize, Serialize};
use tessera_reports::Letter;

use super::report::Flow;
use crate::experiment::limits::{CheckResult, round_trip, time};

/// All flows of one round-trip time and one padding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) rtt_ms: f64,
    pub(super) padding: Option<u16>,
    pub(super) flows: Vec<Flow>,
}

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
    for option in Letter::ALL {
        let count = flows.iter().filter(|flow| flow.variant.option == option).count();
        if count != repetitions {
            let letter = option.letter();
            return Err(format!("{name} has {count} flows of ({letter}), not {repetitions}"));
        }
    }
    if !flows.iter().all(|flow| (&flow.rtt_ms, &flow.padding) == (rtt_ms, padding)) {
        return Err(format!("{name} has flows of another link or padding"));
    }
    for (flow, number) in flows.iter().zip(1..) {
        check_flow(flow).map_err(|what| format!("flow {number} of {name}: {what}"))?;
    }
    Ok(name)
}

/// Refuses a flow that no run writes.
pub(crate) fn check_flow(flow: &Flow) -> CheckResult {
    round_trip(flow.rtt_ms)?;
    let records = &flow.sizes_and_times;
    if records.is_empty() {
        return Err("it has no record".to_owned());
    }
    for (size, us) in records {
        if !(1..=LONGEST_RECORD).contains(&size.unsigned_abs()) {
            return Err(format!("no record has {size} bytes"));
        }
        time("a record", *us as f64)?;
    }
    if !records.is_sorted_by_key(|(_, us)| us) {
        return Err("its records are not in the order in which they came".to_owned());
    }
    match flow.plaintext.iter().find(|place| **place >= records.len()) {
        Some(place) => Err(format!("there is no record {place}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::samples;
    use crate::variants;

    fn cell() -> Cell {
        let flows = Letter::ALL.map(|option| {
            let variant = variants::all().into_iter().find(|variant| variant.option == option);
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
