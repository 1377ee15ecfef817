//! Heap memory.

use crate::bithac::kind::table_of;
use crate::numbers::{count, fixed};
use crate::results::bithac::input::Inputs;
use crate::table::{Cell, Table};

/// The memory of peers.
pub(in crate::results::bithac) fn memory(inputs: &Inputs) -> Option<Table> {
    let counts: Vec<_> = inputs.memory().next()?.held.iter().map(|held| held.entries).collect();
    let mut table = Table::with_note(
        "Bytes that an end holds more on the heap with so many peers, whose chains have three certificates each, by \
         the allocator's own count; and what one takes, in the mean of all. known: a \
         verifier that knows chains again, alone; cached: with it the cache that names them by hash.",
        "what remembers, keys, end | a peer",
    )
    .and(peers(&counts));
    for memory in inputs.memory() {
        let each = Cell::from(memory.per_entry().map(|each| fixed(each, 0)));
        let held = counts.iter().map(|count| {
            let held = memory.held.iter().find(|held| held.entries == *count);
            held.map(|held| held.bytes).into()
        });
        let name = format!("{}, {}, {}", memory.way, memory.certificates, memory.end.name());
        table.row(name, [each].into_iter().chain(held));
    }
    table.unless_empty()
}

/// The peak memory of an end that remembers this many peers.
pub(in crate::results::bithac) fn fullest(inputs: &Inputs) -> Option<Table> {
    let counts: Vec<_> = inputs.memory().next()?.held.iter().map(|held| held.entries).collect();
    let mut table = Table::with_note(
        "Bytes that the same end holds when it holds most, beyond what it held before the first peer: what so many peers \
         take, and the most in a connection with one more.",
        "what remembers, keys, end",
    )
    .and(peers(&counts));
    for memory in inputs.memory() {
        let peaks = counts.iter().map(|count| {
            let held = memory.held.iter().find(|held| held.entries == *count);
            held.and_then(|held| held.peak)
        });
        table.row(format!("{}, {}, {}", memory.way, memory.certificates, memory.end.name()), peaks);
    }
    table.unless_empty()
}

/// Returns the name of a column for each number of peers.
fn peers(counts: &[usize]) -> impl Iterator<Item = String> {
    counts.iter().map(|peers| format!("{} peers", count(peers)))
}

/// The memory of very many clients.
pub(in crate::results::bithac) fn many(inputs: &Inputs) -> Option<Table> {
    let report = inputs.bithac.as_ref()?;
    Some(table_of(&report.many, report).note(
        "A server's cache with very many clients, whose chains are made up from one and have the same issuers: certificates \
         are kept whole, and their issuers once; of hashes, a verifier remembers the rest. Each client has been there \
         twice. Bytes by the allocator's own count; at most: the same when most was held, but for 64 KiB that it may \
         miss. Beyond its own: what the allocator gives besides the certificate or the hash. Nanoseconds of this thread's \
         processor time: to learn a client, to take its ticket and learn new ones, and to look up the two tickets of a \
         hello, of which one is known or none.",
    ))
}

/// The peak memory of both ends.
pub(in crate::results::bithac) fn peaks(inputs: &Inputs) -> Option<Table> {
    let report = inputs.bithac.as_ref()?;
    let table = table_of(&report.peaks, report).note(
        "Bytes that an end holds on the heap when it holds most in a connection with chains of three, what its cache \
         learns included; seen after each call of the engine and each operation of its provider; and that as a share \
         of the full handshake's.",
    );
    table.unless_empty()
}
