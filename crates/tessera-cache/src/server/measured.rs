//! Measures a server's memory for many clients, and the time to look one up. The caller brings the clock and
//! the allocator's counters: this module knows no machine.

use alloc::vec::Vec;

use tessera::auth::VerifierDigest;
use tessera::crypto::Provider;
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};

use super::ServerLimits;
use super::store::{AcceptanceConditions, ClientEntry, Store};
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::{Ticket, TicketBytes};

/// The instruments of a measurement.
#[derive(Clone, Copy)]
pub struct Meter<'a> {
    /// Returns how many bytes are allocated.
    pub held: &'a dyn Fn() -> i64,
    /// Returns the peak since the measurement began.
    pub most: &'a dyn Fn() -> i64,
    /// Returns this thread's processor time, in nanoseconds.
    pub processor: &'a dyn Fn() -> u64,
}

/// What is kept of each client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryContent {
    /// Its certificate, with issuers that all share.
    Certificates,
    /// The hash of its chain: a verifier remembers the rest.
    Hashes,
}

/// The results. Times are per client, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StoreMeasurement {
    /// Bytes above the start, after each client has connected twice.
    pub held: i64,
    /// Peak bytes above the start.
    pub most: i64,
    /// Bytes by the cache's own count.
    pub counted: u64,
    /// Learning a new client.
    pub learned: f64,
    /// Taking a ticket, and learning new ones.
    pub renewed: f64,
    /// Looking up a ClientHello's two tickets, one of which is known.
    pub known: f64,
    /// Looking up two unknown tickets.
    pub unknown: f64,
}

/// Connects this many clients to an empty server twice, in random order, and then looks each up once more.
/// Their chains are like this one, except for the last bytes of the leaf. `None` if it is no chain, or
/// without randomness.
pub fn measure(
    provider: &Provider,
    certificates: &[Vec<u8>],
    kept: EntryContent,
    clients: u64,
    meter: Meter<'_>,
) -> Option<StoreMeasurement> {
    let template = Chain::of_certificates(CertificateType::X509, certificates)?;
    let template = Template { chain: template, kept };
    let limits = ServerLimits { clients: clients as usize, bytes: 1 << 30 };
    let mut order: Vec<u64> = (0..clients).collect();
    order.sort_unstable_by_key(|client| random(*client));
    let each = |since: u64| ((meter.processor)() - since) as f64 / clients.max(1) as f64;
    let before = (meter.held)();
    let mut store = Store::new(provider.random, limits).ok()?;
    let started = (meter.processor)();
    for &client in &order {
        let peer = template.peer(&mut store, client);
        store.learn(&peer, &tickets(client, 0), false);
    }
    let learned = each(started);
    let started = (meter.processor)();
    for &client in &order {
        if let Ok(found) = store.take(&shown(client, 0), UNDER, NOW, |_| true) {
            store.learn(&found.peer, &tickets(client, 1), true);
        }
    }
    let renewed = each(started);
    let (held, most) = ((meter.held)() - before, (meter.most)() - before);
    let counted = store.metrics().bytes;
    let mut look_up = |shown: fn(u64) -> [TicketBytes; 2]| {
        let started = (meter.processor)();
        let found = order.iter().filter(|client| is_found(&mut store, shown(**client))).count();
        (each(started), found as u64)
    };
    let (unknown, of_nobody) = look_up(|client| [no_ticket(client), no_ticket(!client)]);
    let (known, of_clients) = look_up(|client| shown(client, 1));
    debug_assert!((of_nobody, of_clients) == (0, clients), "{of_nobody} and {of_clients} found");
    Some(StoreMeasurement { held, most, counted, learned, renewed, known, unknown })
}

fn is_found(store: &mut Store, shown: [TicketBytes; 2]) -> bool {
    store.take(&shown, UNDER, NOW, |_| true).is_ok()
}

/// What all clients share.
struct Template {
    chain: Chain,
    kept: EntryContent,
}

impl Template {
    /// Makes a client's chain: its own signature, and the shared issuers.
    fn peer(&self, store: &mut Store, client: u64) -> ClientEntry {
        let own = random(!client).to_be_bytes();
        let share = store.share_of(&self.chain.leaf);
        let form = match self.kept {
            EntryContent::Certificates => {
                let mut leaf = self.chain.leaf.to_vec();
                let at = leaf.len().saturating_sub(own.len());
                leaf.splice(at.., own);
                let issuers = self.chain.issuers.clone();
                let certificate_type = self.chain.certificate_type;
                Form::Whole(Chain { certificate_type, leaf: leaf.into(), issuers })
            }
            EntryContent::Hashes => {
                let mut hash = [0; ChainHash::LEN];
                for (part, bytes) in hash.chunks_mut(own.len()).zip([own; 4]) {
                    part.copy_from_slice(&bytes);
                }
                Form::Known(ChainHash(hash))
            }
        };
        ClientEntry { form, under: UNDER, identity: 1, share }
    }
}

const UNDER: AcceptanceConditions =
    AcceptanceConditions { server: [1; 16], policy: Some(VerifierDigest([2; 32])) };

/// The time of the measurement; the certificates have no expiry to check.
const NOW: u64 = 1_800_000_000;

/// Makes the tickets of a handshake.
fn tickets(client: u64, round: u64) -> [Ticket; 2] {
    [0, 1].map(|number| {
        let bytes = random(client * 64 + round * 2 + number).to_be_bytes();
        Ticket { bytes, id: Id(0xc000 | bytes[7] as u16) }
    })
}

/// Makes the tickets in the ClientHello of a client that has one ticket of this round.
fn shown(client: u64, round: u64) -> [TicketBytes; 2] {
    [tickets(client, round)[0].bytes, no_ticket(client)]
}

/// Makes the filler for a client with only one ticket.
fn no_ticket(client: u64) -> TicketBytes {
    random(client ^ 1 << 60).to_be_bytes()
}

/// Returns a pseudorandom number (SplitMix64).
fn random(of: u64) -> u64 {
    let mixed = of.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use tessera_harness::Trace;

    use super::*;

    fn certificates() -> Vec<Vec<u8>> {
        let vectors = Trace::read(include_str!("../../../../docs/cached-handshakes-vectors.txt"));
        let body = &vectors.get("client chain, sha256", "Certificate")[4..];
        let entries = tessera::auth::certificate_entries(body).expect("a chain");
        entries.map(|entry| entry.certificate.to_vec()).collect()
    }

    #[test]
    fn every_client_is_learned_and_found_in_either_form() {
        let ticks = Cell::new(0);
        let processor = || {
            ticks.set(ticks.get() + 500);
            ticks.get()
        };
        let meter = Meter { held: &|| 0, most: &|| 7, processor: &processor };
        for kept in [EntryContent::Certificates, EntryContent::Hashes] {
            let provider = tessera_aws_lc::provider();
            let measured = measure(&provider, &certificates(), kept, 500, meter).expect("a chain");
            let leaves = 500 * certificates()[0].len() as u64;
            assert_eq!(
                measured.counted > leaves,
                kept == EntryContent::Certificates,
                "{measured:?}"
            );
            assert_eq!((measured.most, measured.known, measured.learned), (7, 1.0, 1.0));
        }
    }
}
