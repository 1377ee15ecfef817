//! Tries to decrypt recorded connections with every string in a memory, without knowing what it is.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tessera::crypto::{Secret, Suite};
use tessera::wire::CipherSuite;

use crate::Capture;
use crate::capture::{Hellos, protected};
use crate::opening::{self, APPLICATION_DATA, Opener};
use crate::process_memory::{Snapshot, Window, windows};

/// A recording that was decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecryptedRecording {
    /// Which of the recordings.
    pub recording: usize,
    /// The address of the secret that decrypted it.
    pub address: u64,
    /// The role in which it was tried.
    pub used: SecretRole,
    /// Whether it decrypted application data, and not only a handshake.
    pub application_data: bool,
}

/// The role in which a string of a memory was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretRole {
    /// As a traffic secret, for this protected record of the client.
    Sent(usize),
    /// As a traffic secret, for this protected record of the server.
    Received(usize),
    /// As the PSK of early data.
    Psk,
}

impl fmt::Display for SecretRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent(0) => f.write_str("traffic secret of the client's first protected record"),
            Self::Sent(at) => write!(f, "traffic secret of the client's protected record {at}"),
            Self::Received(at) => write!(f, "traffic secret of the server's protected record {at}"),
            Self::Psk => f.write_str("PSK of early data"),
        }
    }
}

/// The result of an attempt.
#[derive(Debug, Default)]
pub struct AttackReport {
    /// How many strings of the memory were tried.
    pub windows: usize,
    /// How many recordings they were tried on.
    pub recordings: usize,
    /// The strings that decrypted something.
    pub opened: Vec<DecryptedRecording>,
}

/// Tries every string of the memory that could be random, at addresses that are multiples of eight: as traffic secret
/// of each of the first records of each direction (the first under its key has the number zero, whichever it is), and
/// as PSK of early data.
#[must_use]
pub fn open_blindly(snapshot: &Snapshot, recordings: &[Capture]) -> AttackReport {
    let mut by_suite: HashMap<_, Vec<Target<'_>>> = HashMap::new();
    for (number, recording) in recordings.iter().enumerate() {
        if let Some(target) = Target::new(number, recording) {
            by_suite.entry(target.hellos.suite).or_default().push(target);
        }
    }
    let mut tried = AttackReport::default();
    for (suite, targets) in by_suite {
        tried.recordings += targets.len();
        let Some(suite) = suite_of(suite) else { continue };
        let windows = windows(snapshot, suite.hash.len());
        tried.windows += windows.len();
        tried.opened.extend(open_all(suite, &windows, &targets));
    }
    tried.opened.sort_unstable_by_key(|it| (it.recording, it.used, it.address));
    tried
}

fn suite_of(id: CipherSuite) -> Option<&'static Suite> {
    tessera_aws_lc::provider().suite(id)
}

fn open_all(
    suite: &Suite,
    windows: &[Window<'_>],
    targets: &[Target<'_>],
) -> Vec<DecryptedRecording> {
    let opened = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(window) = windows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let here = try_window(suite, window, targets);
                    if !here.is_empty() {
                        opened.lock().unwrap_or_else(PoisonError::into_inner).extend(here);
                    }
                }
            });
        }
    });
    opened.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn try_window(
    suite: &Suite,
    window: &Window<'_>,
    targets: &[Target<'_>],
) -> Vec<DecryptedRecording> {
    let Some(secret) = Secret::from_slice(window.bytes) else { return Vec::new() };
    let opener = Opener::new(suite, &secret);
    let mut opened = Vec::new();
    for target in targets {
        let sent = target.sent.iter().enumerate().map(|(at, it)| (SecretRole::Sent(at), it));
        let received =
            target.received.iter().enumerate().map(|(at, it)| (SecretRole::Received(at), it));
        let traffic = sent.chain(received).filter_map(|(used, record)| {
            Some((used, opener.first_type(record)? == APPLICATION_DATA))
        });
        let as_psk = target.offers_psk
            && opening::early_data(suite, &secret, &target.hellos, &target.recording.sent);
        let used = traffic.chain(as_psk.then_some((SecretRole::Psk, true)));
        opened.extend(used.map(|(used, application_data)| DecryptedRecording {
            recording: target.number,
            address: window.address,
            used,
            application_data,
        }));
    }
    opened
}

/// A parsed recording.
struct Target<'a> {
    number: usize,
    recording: &'a Capture,
    hellos: Hellos,
    offers_psk: bool,
    sent: Vec<&'a [u8]>,
    received: Vec<&'a [u8]>,
}

impl<'a> Target<'a> {
    fn new(number: usize, recording: &'a Capture) -> Option<Self> {
        let hellos = Hellos::read(recording)?;
        Some(Self {
            number,
            recording,
            offers_psk: !hellos.identities.is_empty(),
            hellos,
            sent: protected(&recording.sent).take(RECORDS).collect(),
            received: protected(&recording.received).take(RECORDS).collect(),
        })
    }
}

/// How many records of each direction are tried. Each key's first is among them: the flights of a
/// handshake are a few records.
const RECORDS: usize = 6;
