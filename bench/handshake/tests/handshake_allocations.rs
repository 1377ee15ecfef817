//! How often each end allocates in a connection: all of the process's Rust code, of the provider too, and buffers that grow.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tessera_handshake_bench::{Certificates, End, Meter, Scene, WAYS};

#[derive(Default)]
struct Allocations {
    server: u64,
    client: u64,
    /// How many bytes each end's last call freed: what an idle connection held before it was dropped.
    freed_by_server: i64,
    freed_by_client: i64,
}

impl Meter for Allocations {
    fn run<R>(&mut self, end: End, engine: impl FnOnce() -> R) -> R {
        let mut result = None;
        let counted = allocation_counter::measure(|| result = Some(engine()));
        let (count, freed) = match end {
            End::Server => (&mut self.server, &mut self.freed_by_server),
            End::Client => (&mut self.client, &mut self.freed_by_client),
        };
        *count += counted.count_total;
        *freed = -counted.bytes_current;
        result.expect("it ran")
    }
}

const MUTUAL: &str = "mutual, x25519";
const NEVER_HIT: &str = "mutual, x25519, caches that never hit";

/// How many allocations caches that never hit may add. One of them is the price of an end entity that is copied fallibly: its
/// bytes, and the count of those who share them.
const OF_CACHES: u64 = 11;

/// The most allocations of a server and of a client, for ways whose names begin so; the first that fits counts.
const BOUNDS: [(&str, u64, u64); 17] = [
    ("full, x25519", 30, 41),
    ("full, hybrid, ml-dsa-44", 40, 53),
    ("full, hybrid, ml-kem-768", 41, 65),
    ("full, hybrid", 39, 53),
    ("mutual, x25519, cached and known chains", 47, 55),
    (NEVER_HIT, 52, 59),
    ("mutual, x25519, known chains", 41, 48),
    (MUTUAL, 45, 48),
    ("psk-dhe, x25519", 32, 36),
    ("psk-dhe, hybrid", 41, 48),
    ("0-rtt (replayable)", 43, 51),
    ("psk-only", 28, 30),
    ("0rtt-fs x25519, then psk_ke", 42, 46),
    ("0rtt-fs x25519, then psk_dhe_ke", 46, 49),
    ("0rtt-fs hybrid, then psk_dhe_ke", 63, 68),
    ("0rtt-fs hybrid", 54, 62),
    ("0rtt-fs one-time psk", 36, 41),
];

/// How many more AWS-LC needs than Graviola to open a one-time key of X25519.
const WITHOUT_GRAVIOLA: u64 = 4;

/// Whether the processor has what Graviola needs. x86-64 processors since about 2015 have it; emulators may not.
fn has_graviola() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("adx");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Serialises the tests: the key pairs made ahead are the process's.
static POOL_LOCK: Mutex<()> = Mutex::new(());

#[test]
fn a_connection_allocates_no_more_than_its_bound() {
    let _lock = POOL_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut above = Vec::new();
    let mut medians = HashMap::new();
    for way in &WAYS {
        let scene = Scene::new(way, None);
        let mut session = scene.first(&mut Allocations::default());
        // The median: tables grow now and then, and signatures differ in length.
        let mut counts = Vec::new();
        for _ in 0..51 {
            let mut counted = Allocations::default();
            session = scene.next(session, &mut counted);
            counts.push(counted);
        }
        let median = |of: fn(&Allocations) -> u64| {
            let mut counts: Vec<_> = counts.iter().map(of).collect();
            counts.sort_unstable();
            counts[counts.len() / 2]
        };
        let counted = Allocations {
            server: median(|it| it.server),
            client: median(|it| it.client),
            ..Allocations::default()
        };
        let bound = BOUNDS.iter().find(|(name, ..)| way.name.starts_with(name));
        let &(_, mut server, client) = bound.expect("each way has a bound");
        if way.name.starts_with("0rtt-fs") && !has_graviola() {
            server += WITHOUT_GRAVIOLA;
        }
        let row = format!(
            "{:<60} server {:>3} of {server:>3}, client {:>3} of {client:>3}",
            way.name, counted.server, counted.client
        );
        eprintln!("{row}");
        if counted.server > server || counted.client > client {
            above.push(row);
        }
        medians.insert(way.name, counted);
    }
    assert!(above.is_empty(), "allocations above their bound:\n{}", above.join("\n"));
    let (without, with) = (&medians[MUTUAL], &medians[NEVER_HIT]);
    let own = [with.server - without.server, with.client - without.client];
    assert!(own.iter().all(|own| *own <= OF_CACHES), "a cache of its own allocates {own:?} times");
}

/// What AWS-LC keeps for the AES-GCM keys of both directions, in bytes, by valgrind's DHAT; it isn't counted here.
const OF_AWS_LC: i64 = 2 * 592;

/// How many bytes a client's certificate codecs may keep.
const OF_CODECS: i64 = 40;

/// Without the driver's buffers, which are its own to release.
#[test]
fn an_idle_end_keeps_no_more_than_two_kibibytes() {
    let _lock = POOL_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut above = Vec::new();
    for way in &WAYS {
        let scene = Scene::new(way, None);
        let session = scene.first(&mut Allocations::default());
        let mut counted = Allocations::default();
        scene.next(session, &mut counted);
        let Allocations { freed_by_server: server, freed_by_client: client, .. } = counted;
        let row = format!(
            "{:<60} server {:>5}, client {:>5} bytes",
            way.name,
            server + OF_AWS_LC,
            client + OF_AWS_LC
        );
        eprintln!("{row}");
        let codecs = match way.certificates {
            Certificates::CachedAndKnown | Certificates::NeverCached => OF_CODECS,
            Certificates::Verified | Certificates::Known => 0,
        };
        let most = 2048 - OF_AWS_LC;
        if !(1..=most).contains(&server) || !(1..=most + codecs).contains(&client) {
            above.push(row);
        }
    }
    assert!(above.is_empty(), "not within 2 KiB:\n{}", above.join("\n"));
}
