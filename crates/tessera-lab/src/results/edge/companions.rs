//! What a client would need whose next proxy isn't known: a one-time key at each neighbour. Computed from the sizes and times
//! of one.

use tessera_observed::Operation;
use tessera_reports::KeyExchange;

use super::input::Inputs;
use super::operations::median;
use crate::certificates::Certificates::Rsa2048;
use crate::edge::EdgeWay;
use crate::edge::report::Sample;
use crate::edge::table;
use crate::numbers::{count, fixed};
use crate::table::{Table, cells};

/// How many neighbours; a session names one companion today.
const NEIGHBOURS: [u64; 4] = [1, 2, 4, 8];

/// What a companion takes a proxy: it makes the key and puts it into a vault.
const MAKES: [Operation; 2] = [Operation::OneTimeKeyGeneration, Operation::VaultPut];

/// The table.
pub(super) fn companions(inputs: &Inputs) -> Option<Table> {
    let mut table = Table::with_note(
        "Computed, not measured: a ticket with companions at n neighbours is n × b bytes longer, and takes the proxy n × t. \
         b is how much longer the records with a ticket are with 0rtt-fs than with resumed; t is how long a proxy takes to \
         make a one-time key and to put it into a vault (with RSA-2048).",
        "neighbours, group | companions, bytes | of a resumption | the proxy's work, µs | of a resumption's",
    );
    for kx in KeyExchange::ALL {
        let Some(one) = Companion::of(inputs, kx) else { continue };
        for n in NEIGHBOURS {
            let (bytes, us) = (n * one.bytes, n as f64 * one.us);
            let times = |ratio: f64| format!("{}×", fixed(ratio, 2));
            table.row(
                format!("{n}, {}", kx.registered_name()),
                cells![
                    count(bytes),
                    times(bytes as f64 / one.resumption_bytes as f64),
                    fixed(us, 1),
                    times(us / one.resumption_us),
                ],
            );
        }
    }
    table.unless_empty()
}

/// One companion, and the resumption that it is compared with.
struct Companion {
    bytes: u64,
    us: f64,
    /// All of TLS in it, both directions.
    resumption_bytes: u64,
    /// The proxy's engine in it.
    resumption_us: f64,
}

impl Companion {
    fn of(inputs: &Inputs, kx: KeyExchange) -> Option<Self> {
        let bytes = |way, value: fn(&Sample) -> u64| {
            let cell = inputs.cell(way, kx, Rsa2048)?;
            Some(table::median(cell, |sample| value(sample) as f64)?.value as u64)
        };
        let early = inputs.operations(EdgeWay::ZeroRttFs, kx, Rsa2048)?;
        let resumed = inputs.operations(EdgeWay::Resumed, kx, Rsa2048)?;
        let with = bytes(EdgeWay::ZeroRttFs, Sample::tickets)?;
        Some(Self {
            bytes: with.saturating_sub(bytes(EdgeWay::Resumed, Sample::tickets)?),
            us: median(&early.server.sums(&MAKES))?,
            resumption_bytes: bytes(EdgeWay::Resumed, |it| it.of.client.tls + it.of.server.tls)?,
            resumption_us: median(&resumed.server.engine_us)?,
        })
    }
}
