//! Connects again and again, prints what both ends take, and fails if their heaps are not as before.

use core::fmt::Arguments;

use cortex_m_semihosting::hprintln;
use tessera::Error;
use tessera_embedded::{input_len, output_len};

use crate::heap::{self, Side};
use crate::measure::Cost;
use crate::settings::{DATA, RECORD};

/// How often the ends connect: set by `scripts/firmware`.
const CONNECTIONS: Option<&str> = option_env!("FIRMWARE_CONNECTIONS");

/// What the stream of a client alone has for records, in bytes.
const BUFFERS: usize = input_len(RECORD) + output_len(DATA);

const SIDES: [Side; 2] = [Side::Client, Side::Server];

/// What an end took.
#[derive(Default)]
pub struct Taken {
    pub cost: Cost,
    /// Bytes sent until the handshake was complete.
    pub sent: usize,
}

impl Taken {
    pub fn new(is_measured: bool) -> Self {
        Self { cost: Cost { is_measured, ..Cost::default() }, sent: 0 }
    }
}

/// Connects once, and prints what each end takes.
pub fn measure(
    heading: Arguments<'_>,
    connect: impl FnOnce() -> Result<[Taken; 2], Error>,
) -> Result<(), Error> {
    SIDES.into_iter().for_each(heap::restart_peak);
    let before = SIDES.map(heap::usage);
    let taken = connect()?;
    for (at, name) in ["client", "server"].into_iter().enumerate() {
        let usage = heap::usage(SIDES[at]);
        hprintln!(
            "{}{} instructions {} stack {} heap {} kept {} allocations {} sent {} buffers {}",
            heading,
            name,
            taken[at].cost.instructions,
            taken[at].cost.stack,
            usage.peak,
            before[at].used,
            usage.allocations - before[at].allocations,
            taken[at].sent,
            BUFFERS
        );
    }
    Ok(())
}

/// Connects as often as asked for, and measures the first connection (`true`).
///
/// # Errors
/// Also if a heap is not as before: as much in use, the rest in one block, and never more than in the first connection.
pub fn repeat(mut connect: impl FnMut(bool) -> Result<[Taken; 2], Error>) -> Result<(), Error> {
    let before = SIDES.map(heap::usage);
    let free = SIDES.map(heap::largest_free);
    measure(format_args!(""), || connect(true))?;
    let peaks = SIDES.map(|side| heap::usage(side).peak);
    let connections = CONNECTIONS.and_then(|count| count.parse().ok()).unwrap_or(20);
    for _ in 1..connections {
        connect(false)?;
    }
    for (at, side) in SIDES.into_iter().enumerate() {
        let usage = heap::usage(side);
        let largest = heap::largest_free(side);
        if usage.used != before[at].used || largest != free[at] || usage.peak != peaks[at] {
            hprintln!("heap: {} used, {} before", usage.used, before[at].used);
            hprintln!("free in one block: {}, {} before", largest, free[at]);
            hprintln!("at most: {}, {} in the first connection", usage.peak, peaks[at]);
            return Err(Error::Configuration("the heap is not as at the start"));
        }
    }
    hprintln!("connections {}", connections);
    Ok(())
}
