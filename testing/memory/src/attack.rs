//! The attack on a process whose connections have ended.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde::Serialize;
use tessera::wire::NamedGroup;
use tessera_adversary::process_memory::{Needle, Place, Snapshot, Window, search, windows};
use tessera_adversary::{Capture, open_blindly};
use zeroize::Zeroizing;

use crate::expanded::expanded_keys;
use crate::marks::Marks;
use crate::recorder::Recorder;

/// The findings for one kind of secret in one kind of place.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Its name.
    pub secret: String,
    /// `stack`, `heap` or `data`.
    pub kind: &'static str,
    /// How many different ones.
    pub secrets: usize,
    /// How many copies of them.
    pub copies: usize,
    /// Some of the places.
    pub places: Vec<String>,
}

/// The result of an attack.
#[derive(Debug, Clone, Serialize)]
pub struct AttackResult {
    /// How many bytes of memory were looked at.
    pub bytes: usize,
    /// The threads of the process.
    pub threads: usize,
    /// How many known values were searched for.
    pub known: usize,
    /// How many strings of the memory were tried without knowing them.
    pub tried: usize,
    /// On how many recordings.
    pub recordings: usize,
    /// The findings, which should be empty.
    pub findings: Vec<Finding>,
}

/// Searches for all recorded secrets of connections, then tries everything in memory on the captures of the last ones.
pub fn attack(
    snapshot: &Snapshot,
    recorder: &Recorder,
    marks: &Marks,
    captures: &[Capture],
) -> AttackResult {
    let recorded = recorder.recorded();
    let mut needles: Vec<_> = recorded
        .forbidden()
        .map(|(bytes, name)| Needle { name: name.clone(), bytes: Zeroizing::new(bytes.clone()) })
        .collect();
    needles.extend(marks.all().into_iter().map(|(name, mark)| {
        // A part of it suffices.
        Needle { name, bytes: Zeroizing::new(mark[..16].to_vec()) }
    }));
    let public_keys = recorded.public_keys.clone();
    let ml_kem_keys = recorded.ml_kem_keys.clone();
    drop(recorded);

    let mut found = Findings::default();
    for it in search(snapshot, &needles) {
        found.add(snapshot, &needles[it.needle].name, it.needle as u64, it.address);
    }
    let windows = windows(snapshot, 32);
    for address in private_keys(&windows, &public_keys) {
        found.add(snapshot, "private key of X25519 or its seed", address, address);
    }
    for (key, address) in expanded_keys(snapshot, &ml_kem_keys) {
        found.add(snapshot, "private key of ML-KEM", key as u64, address);
    }
    let tried = open_blindly(snapshot, captures);
    for it in tried.opened {
        found.add(snapshot, &format!("opened: {}", it.used), it.recording as u64, it.address);
    }
    AttackResult {
        bytes: snapshot.len(),
        threads: snapshot.threads().len(),
        known: needles.len() + ml_kem_keys.len(),
        tried: tried.windows + windows.len(),
        recordings: tried.recordings,
        findings: found.told(snapshot),
    }
}

/// Returns where there is a private key to one of these public ones.
fn private_keys(windows: &[Window<'_>], public_keys: &HashSet<Vec<u8>>) -> Vec<u64> {
    let Some(keys) = tessera_aws_lc::provider().one_time(NamedGroup::X25519) else {
        return Vec::new();
    };
    let is_private = |window: &Window<'_>| {
        let public = keys.from_seed(window.bytes).and_then(|key| key.public());
        public.is_ok_and(|public| public_keys.contains(&public))
    };
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(window) = windows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if is_private(window) {
                        found.lock().unwrap_or_else(PoisonError::into_inner).push(window.address);
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Findings by secret and place.
#[derive(Default)]
struct Findings(BTreeMap<(String, &'static str), Copies>);

#[derive(Default)]
struct Copies {
    different: HashSet<u64>,
    addresses: Vec<u64>,
}

impl Findings {
    fn add(&mut self, snapshot: &Snapshot, secret: &str, which: u64, address: u64) {
        let kind = match snapshot.place(address) {
            Place::Stack { .. } => "stack",
            Place::Heap => "heap",
            Place::Data(_) => "data",
        };
        let copies = self.0.entry((secret.to_owned(), kind)).or_default();
        copies.different.insert(which);
        copies.addresses.push(address);
    }

    fn told(self, snapshot: &Snapshot) -> Vec<Finding> {
        let told = self.0.into_iter().map(|((secret, kind), copies)| {
            let Copies { different, addresses } = copies;
            let places = addresses.iter().take(PLACES).map(|address| {
                let mut place = format!("{address:#x}: {}", snapshot.place(*address));
                if kind == "stack" {
                    let callers = snapshot.callers(*address).into_iter();
                    let callers: Vec<_> =
                        callers.map(|(above, caller)| format!("+{above} {caller}")).collect();
                    place.push_str(&format!("; return addresses above: {}", callers.join(", ")));
                }
                place
            });
            Finding {
                secret,
                kind,
                secrets: different.len(),
                copies: addresses.len(),
                places: places.collect(),
            }
        });
        told.collect()
    }
}

/// How many places of a finding to report.
const PLACES: usize = 4;
