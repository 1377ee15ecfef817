//! What a million clients take, and how long one is looked for. Printed, and held against the aims:
//!
//! ```text
//! cargo test -p tessera-cache --lib --config profile.dev.package.tessera-cache.opt-level=3 -- \
//!     --ignored --nocapture a_million_clients
//! ```

use std::println;
use std::sync::Arc;
use std::vec::Vec;

use tessera::auth::VerifierDigest;
use tessera::wire::{CertificateCompressionAlgorithm as Id, CertificateType};
use tessera_harness::Trace;
use tikv_jemalloc_ctl::{epoch, stats};

use super::ServerLimits;
use super::store::{Remembered, Store, Under};
use crate::chain::Chain;
use crate::form::Form;
use crate::ids::{Ticket, TicketBytes};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const CLIENTS: u64 = 1_000_000;

fn allocated() -> usize {
    epoch::advance().expect("an epoch");
    stats::allocated::read().expect("a number")
}

/// SplitMix64: numbers that look random.
fn random(of: u64) -> u64 {
    let mixed = of.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn ticket(client: u64, round: u64, number: u64) -> Ticket {
    let bytes = random(client * 64 + round * 2 + number).to_be_bytes();
    Ticket { bytes, id: Id(0xc000 | bytes[7] as u16) }
}

/// What stands where a client has one ticket only.
fn no_ticket(client: u64) -> TicketBytes {
    random(client ^ 1 << 60).to_be_bytes()
}

/// A client's chain: a certificate on P-256 with its own signature, and the issuer that all have.
fn peer(store: &mut Store, template: &[u8], issuer: &Arc<[u8]>, client: u64) -> Remembered {
    let mut leaf = template.to_vec();
    let at = leaf.len() - 8;
    leaf[at..].copy_from_slice(&random(!client).to_be_bytes());
    let share = store.share_of(&leaf);
    let chain = Chain::new(CertificateType::X509, leaf, issuer.clone()).expect("a chain");
    Remembered { form: Form::Whole(Arc::new(chain)), under: under(), identity: 1, share }
}

fn under() -> Under {
    Under { server: [1; 16], policy: Some(VerifierDigest([2; 32])) }
}

#[test]
#[ignore = "takes some seconds, and half a gigabyte"]
fn a_million_clients_fit_into_64_bytes_each_beside_their_certificates() {
    let vectors = Trace::read(include_str!("../../../../docs/cached-handshakes-vectors.txt"));
    let body = &vectors.get("client chain, sha256", "Certificate")[4..];
    let chain = Chain::of_body(CertificateType::X509, body).expect("a chain");
    let limits = ServerLimits { clients: CLIENTS as usize, bytes: 1 << 30 };
    let before = allocated();
    let mut store = Store::new(tessera_aws_lc::provider().random, limits).expect("a store");
    let now = 1_800_000_000;
    let mut all: Vec<u64> = (0..CLIENTS).collect();
    all.sort_by_key(|client| random(*client));
    for round in 0..2 {
        let started = processor();
        for &client in &all {
            let presented = round > 0;
            let peer = match presented {
                false => peer(&mut store, &chain.leaf, &chain.issuers, client),
                true => {
                    let tickets = [ticket(client, 0, 0).bytes, no_ticket(client)];
                    let found = store.take(&tickets, under(), now, |_| true).expect("known");
                    found.expect("usable").peer
                }
            };
            let tickets = [ticket(client, round, 0), ticket(client, round, 1)];
            store.learn(&peer, &tickets, presented);
        }
        println!("round {round}: {:.2} us a client", micros(started));
        let taken = allocated() - before - 8 * all.len();
        // What jemalloc gives for a certificate of this length.
        let leaf = chain.leaf.len().next_multiple_of(64) as u64;
        let beside = (taken as u64 - CLIENTS * leaf) as f64 / CLIENTS as f64;
        println!("  {taken} bytes in all, {beside:.1} a client beside certificates of {leaf}");
        let metrics = store.metrics();
        println!("  {} clients, {} bytes by its own count", metrics.entries, metrics.bytes);
        assert!(metrics.entries == CLIENTS && taken < 1 << 30);
        assert!(beside <= 64.0, "{beside}");
    }
    let stranger = |client: u64| [no_ticket(client), no_ticket(!client)];
    looked_up("unknown", &all, |client| {
        store.take(&stranger(client), under(), now, |_| true).is_err()
    });
    let known =
        |client: u64| -> [TicketBytes; 2] { [ticket(client, 1, 0).bytes, no_ticket(client)] };
    looked_up("known", &all, |client| store.take(&known(client), under(), now, |_| true).is_ok());
}

fn looked_up(what: &str, all: &[u64], mut look: impl FnMut(u64) -> bool) {
    let started = processor();
    let found = all.iter().filter(|client| look(**client)).count();
    println!("{what}: {:.3} us a hello with two tickets", micros(started));
    assert_eq!(found, all.len(), "{what}");
}

/// Microseconds of the processor since then, for each client.
fn micros(since: u64) -> f64 {
    (processor() - since) as f64 / 1e3 / CLIENTS as f64
}

/// How long this thread had a processor, in nanoseconds: others may use it too.
fn processor() -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    told.split(' ').next().and_then(|it| it.parse().ok()).expect("a number")
}
