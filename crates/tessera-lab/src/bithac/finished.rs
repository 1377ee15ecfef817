//! Checks that the results in a journal can be those of a completed run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::report::{Cell, CellName, DatagramCell, Hits, LargeCache, Memory, Part, Peak, Work};
use crate::experiment::Failures;
use crate::wired::{LONGEST_US, MOST_BYTES};

/// A finished result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Finished {
    Cell(Cell),
    Work(Work),
    Hits(Hits),
    Memory(Memory),
    Peak(Peak),
    Many(LargeCache),
    Datagrams(DatagramCell),
}

/// Returns how many samples a cell has: bytes are the same each time, and of losses there are many cells.
pub(super) fn samples_of(name: &CellName, repetitions: usize) -> usize {
    match name.part {
        Part::Bytes => 1,
        // Nothing differs but the length of an ECDSA signature.
        Part::Datagrams if name.link.loss == 0.0 => 1,
        Part::Losses => repetitions.div_ceil(5),
        _ => repetitions,
    }
}

/// Returns how many connections in memory a row has: they are short, and differ by little.
pub(super) fn computed_of(repetitions: usize) -> usize {
    10 * repetitions
}

/// Returns the name of a complete result.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn check(finished: &Finished, repetitions: usize) -> Result<String, String> {
    match finished {
        Finished::Cell(cell) => {
            check_cell(cell)?;
            check_count(&cell.name, cell.samples.len(), repetitions)
        }
        Finished::Datagrams(cell) => {
            check_datagrams(cell)?;
            check_count(&cell.name, cell.samples.len(), repetitions)
        }
        Finished::Work(work) => check_work(work).map(|()| work.key()),
        Finished::Hits(hits) => check_hits(hits).map(|()| hits.key()),
        Finished::Memory(memory) => check_memory(memory).map(|()| memory.key()),
        Finished::Peak(peak) => check_peak(peak).map(|()| peak.key()),
        Finished::Many(many) => check_many(many).map(|()| many.key()),
    }
}

fn check_count(name: &CellName, samples: usize, repetitions: usize) -> Result<String, String> {
    let (wanted, name) = (samples_of(name, repetitions), name.key());
    if samples != wanted {
        return Err(format!("{name} has {samples} samples of {wanted}"));
    }
    Ok(name)
}

/// Refuses handshakes over datagrams that no run writes.
pub(crate) fn check_datagrams(cell: &DatagramCell) -> Result<(), String> {
    let (name, columns) = (cell.name.key(), cell.samples.columns());
    check_failures(&name, &cell.why_failed, cell.samples.len())?;
    if columns.iter().any(|column| column.len() != cell.samples.len()) {
        return Err(format!("{name} has columns of different lengths"));
    }
    let [client_us, server_us, bytes @ ..] = columns;
    let is_time = |us: &u64| (1..=LONGEST_US as u64).contains(us);
    let [client_bytes, server_bytes, client_packets, server_packets, ..] = bytes;
    let are_sent = [(client_bytes, client_packets), (server_bytes, server_packets)]
        .iter()
        .flat_map(|(bytes, packets)| bytes.iter().zip(*packets))
        .all(|(bytes, packets)| {
            (1..=*bytes).contains(packets) && *bytes <= packets * u64::from(cell.name.link.mtu)
        });
    let can_be = client_us.iter().chain(server_us).all(is_time)
        && bytes.iter().copied().flatten().all(|bytes| *bytes <= MOST_BYTES)
        && are_sent;
    if can_be { Ok(()) } else { Err(format!("a sample of {name} is impossible")) }
}

/// Refuses a cell without samples, or with more failures than it may have.
fn check_failures(
    name: &str,
    why_failed: &BTreeMap<String, u32>,
    samples: usize,
) -> Result<(), String> {
    if samples == 0 {
        return Err(format!("{name} has no sample"));
    }
    let failed: u64 = why_failed.values().copied().map(u64::from).sum();
    let most = Failures::most(samples);
    if failed > most as u64 {
        return Err(format!("{failed} connections of {name} failed, but at most {most} may"));
    }
    Ok(())
}

/// Refuses a cell that no run writes.
pub(crate) fn check_cell(cell: &Cell) -> Result<(), String> {
    let name = cell.name.key();
    check_failures(&name, &cell.why_failed, cell.samples.len())?;
    match cell.samples.iter().position(|sample| !sample.can_be()) {
        Some(index) => Err(format!("sample {} of {name} is impossible", index + 1)),
        None => Ok(()),
    }
}

/// Refuses work that no run writes.
pub(crate) fn check_work(work: &Work) -> Result<(), String> {
    check_times(&work.key(), &work.client_us, &work.server_us)
}

/// Refuses hits that no run writes.
pub(crate) fn check_hits(hits: &Hits) -> Result<(), String> {
    let (name, connections) = (hits.key(), hits.client_us.len());
    check_times(&name, &hits.client_us, &hits.server_us)?;
    if hits.bytes.len() != connections || hits.hits as usize > connections {
        return Err(format!(
            "{name} needs one byte count per connection, and no more hits than connections"
        ));
    }
    match hits.bytes.iter().find(|bytes| !(1..=MOST_BYTES).contains(*bytes)) {
        Some(bytes) => Err(format!("a connection of {name} has {bytes} bytes")),
        None => Ok(()),
    }
}

/// Refuses memory that no run writes.
pub(crate) fn check_memory(memory: &Memory) -> Result<(), String> {
    let name = memory.key();
    if memory.held.is_empty() || !memory.held.is_sorted_by(|a, b| a.entries < b.entries) {
        return Err(format!("{name} has no counts of entries in their order"));
    }
    match memory.held.iter().find(|held| held.bytes.unsigned_abs() > MOST_BYTES) {
        Some(held) => Err(format!("{} entries of {name} take {} bytes", held.entries, held.bytes)),
        None => Ok(()),
    }
}

/// Refuses a peak that no run writes.
pub(crate) fn check_peak(peak: &Peak) -> Result<(), String> {
    match [peak.client, peak.server].iter().find(|bytes| !(1..=MOST_BYTES as i64).contains(*bytes))
    {
        Some(bytes) => Err(format!("{} is {bytes} bytes", peak.key())),
        None => Ok(()),
    }
}

/// Refuses memory of many clients that no run writes.
pub(crate) fn check_many(many: &LargeCache) -> Result<(), String> {
    const LONGEST_NS: f64 = 1e9;
    let LargeCache { held, most, clients, .. } = *many;
    let name = many.key();
    if clients == 0 || [held, most].iter().any(|bytes| !(1..=MOST_BYTES as i64).contains(bytes)) {
        return Err(format!("{name} holds {held} bytes of {clients} clients, and at most {most}"));
    }
    let times = [many.learned_ns, many.renewed_ns, many.known_ns, many.unknown_ns];
    match times.iter().find(|ns| !(0.0..=LONGEST_NS).contains(*ns)) {
        Some(ns) => Err(format!("a time of {name} is {ns} ns")),
        None => Ok(()),
    }
}

fn check_times(name: &str, client: &[f64], server: &[f64]) -> Result<(), String> {
    if client.is_empty() || client.len() != server.len() {
        return Err(format!("{name} has samples of one end alone, or none"));
    }
    match client.iter().chain(server).find(|us| !(0.0..=LONGEST_US).contains(*us)) {
        Some(us) => Err(format!("a sample of {name} is {us} µs, not 0 to {LONGEST_US}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bithac::samples;

    #[test]
    fn only_a_cell_with_all_of_its_samples_is_finished() {
        let cell = samples::cell(Part::Times, 3);
        assert_eq!(check(&Finished::Cell(cell.clone()), 3), Ok(cell.name.key()));
        assert!(check(&Finished::Cell(samples::cell(Part::Bytes, 1)), 3).is_ok());
        assert!(check(&Finished::Cell(samples::cell(Part::Losses, 2)), 6).is_ok());
        let refused = |change: fn(&mut Cell), words: &str| {
            let mut cell = samples::cell(Part::Times, 3);
            change(&mut cell);
            let refusal = check(&Finished::Cell(cell), 3).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        };
        refused(|cell| cell.samples.truncate(2), "2 samples of 3");
        refused(|cell| cell.samples.clear(), "no sample");
        refused(|cell| cell.samples[1].handshake_us = 9e12, "sample 2 of");
        refused(|cell| cell.samples[0].tcp_us = 1e6, "sample 1 of");
        refused(|cell| cell.samples[0].server.ip = 10, "sample 1 of");
        refused(|cell| cell.samples[0].client.packets = 0, "sample 1 of");
        refused(|cell| cell.why_failed = [("noise".to_owned(), 9)].into(), "9 connections of");
    }

    #[test]
    fn datagrams_have_columns_of_one_length_and_packets_that_fit_the_link() {
        const REPETITIONS: usize = 30;
        let cell = samples::datagrams(0.01, REPETITIONS);
        assert_eq!(check(&Finished::Datagrams(cell.clone()), REPETITIONS), Ok(cell.name.key()));
        assert!(check(&Finished::Datagrams(samples::datagrams(0.0, 1)), REPETITIONS).is_ok());
        let refused = |change: fn(&mut DatagramCell), words: &str| {
            let mut cell = samples::datagrams(0.01, REPETITIONS);
            change(&mut cell);
            let refusal = check(&Finished::Datagrams(cell), REPETITIONS).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        };
        refused(|cell| cell.samples = Default::default(), "no sample");
        refused(|cell| cell.samples.server_resent.truncate(3), "different lengths");
        refused(|cell| cell.samples.server_us[3] = 0, "impossible");
        refused(|cell| cell.samples.client_packets[3] = 1, "impossible");
        refused(|cell| cell.samples = samples::datagrams(0.0, 1).samples, "1 samples of 30");
        refused(|cell| cell.why_failed = [("noise".to_owned(), 99)].into(), "99 connections of");
    }

    #[test]
    fn work_has_samples_of_both_ends() {
        let work = samples::work();
        assert_eq!(check(&Finished::Work(work.clone()), 3), Ok(work.key()));
        let refused = |change: fn(&mut Work), words: &str| {
            let mut work = samples::work();
            change(&mut work);
            let refusal = check(&Finished::Work(work), 3).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        };
        refused(|work| work.server_us.clear(), "one end alone");
        refused(|work| work.client_us[0] = -1.0, "is -1 µs");
    }

    #[test]
    fn hits_have_bytes_and_times_of_each_connection_and_memory_its_counts() {
        let hits = samples::hits(Some(90));
        assert_eq!(check(&Finished::Hits(hits.clone()), 3), Ok(hits.key()));
        let too_many = Hits { hits: 99, ..hits.clone() };
        assert!(check(&Finished::Hits(too_many), 3).unwrap_err().contains("no more hits"));
        let nothing = Hits { bytes: vec![0; hits.bytes.len()], ..hits };
        assert!(check(&Finished::Hits(nothing), 3).unwrap_err().contains("has 0 bytes"));
        let memory = samples::memory();
        assert_eq!(check(&Finished::Memory(memory.clone()), 3), Ok(memory.key()));
        let mut held = memory.held.clone();
        held.reverse();
        let refusal = check(&Finished::Memory(Memory { held, ..memory }), 3).unwrap_err();
        assert!(refusal.contains("in their order"), "{refusal}");
        let peak = samples::peak();
        assert_eq!(check(&Finished::Peak(peak.clone()), 3), Ok(peak.key()));
        assert!(check(&Finished::Peak(Peak { server: 0, ..peak }), 3).is_err());
        let many = samples::many();
        assert_eq!(check(&Finished::Many(many.clone()), 3), Ok(many.key()));
        assert!(check(&Finished::Many(LargeCache { held: 0, ..many.clone() }), 3).is_err());
        assert!(check(&Finished::Many(LargeCache { known_ns: -1.0, ..many }), 3).is_err());
    }
}
