//! The adversary after the fact: recorded a connection, then steals what is left, and tries to decrypt the recording.
//!
//! Everything here is based on the record format, the key schedule and the wire format of tickets; no code of the
//! engine decides whether the attempt succeeds. [`process_memory`] reads what is left in a process, on Linux.
#![forbid(unsafe_code)]

mod blind;
mod capture;
mod opening;
pub mod process_memory;
mod psks;

use serde::{Deserialize, Serialize};

use capture::Hellos;
use process_memory::Snapshot;

pub use blind::{AttackReport, DecryptedRecording, SecretRole, open_blindly};

/// A connection as recorded by an adversary on the path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Capture {
    /// The client's bytes.
    pub sent: Vec<u8>,
    /// How many of them precede the server's first byte.
    pub first_flight: usize,
    /// The server's bytes.
    pub received: Vec<u8>,
}

/// The secrets that the adversary has stolen.
pub struct StolenSecrets<'a> {
    /// The sessions of the client, as it writes them to a file.
    pub sessions: &'a [Vec<u8>],
    /// The key of the servers' ring.
    pub ticket_key: &'a [u8],
    /// One-time secrets of the server's vault, as a vault writes them.
    pub vault: &'a [Vec<u8>],
}

/// The parts that could be decrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecryptedParts {
    /// Early data of the first flight.
    pub early_data: bool,
    /// The data of the server's application.
    pub session: bool,
}

impl DecryptedParts {
    /// Combines two attempts.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            early_data: self.early_data || other.early_data,
            session: self.session || other.session,
        }
    }
}

/// Tries every string in the memory of a process, without knowing what it is.
#[must_use]
pub fn open_with_memory(capture: &Capture, memory: &Snapshot) -> DecryptedParts {
    let tried = open_blindly(memory, std::slice::from_ref(capture));
    let mut opened = DecryptedParts::default();
    for by in tried.opened.iter().filter(|by| by.application_data) {
        match by.used {
            // A client's first record that is not of the handshake is early data.
            SecretRole::Sent(0) | SecretRole::Psk => opened.early_data = true,
            SecretRole::Sent(_) | SecretRole::Received(_) => opened.session = true,
        }
    }
    opened
}

/// Tries every key that the stolen secrets lead to. `None` if the capture is not a TLS 1.3 connection, so that nothing
/// was tried.
#[must_use]
pub fn open(capture: &Capture, stolen: &StolenSecrets<'_>) -> Option<DecryptedParts> {
    let hellos = Hellos::read(capture)?;
    let provider = tessera_aws_lc::provider();
    let suite = provider.suite(hellos.suite)?;
    let mut opened = DecryptedParts::default();
    for psk in psks::of(&provider, suite, &hellos, stolen) {
        opened.early_data |= opening::early_data(suite, &psk, &hellos, &capture.sent);
        opened.session |= opening::session(suite, &psk, &hellos, &capture.received);
    }
    Some(opened)
}
