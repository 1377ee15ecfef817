//! What every state needs besides its own data.

use alloc::vec::Vec;

use super::facts::Facts;
use super::transport::{Epoch, Transport};
use crate::crypto::Suite;
use crate::key_log::KeyLog;
use crate::schedule::Transcript;
use crate::time::Time;

/// The world outside the state machine, for the time of one call.
pub struct Context<'c> {
    pub(crate) now: Time,
    pub(crate) transport: &'c mut dyn Transport,
    pub(crate) facts: &'c mut Facts,
    /// Where messages are built; kept for its capacity.
    pub(crate) scratch: &'c mut Vec<u8>,
}

impl Context<'_> {
    /// Builds a message, adds it to the transcript and sends it.
    pub(crate) fn send(
        &mut self,
        epoch: Epoch,
        transcript: &mut Transcript,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.scratch.clear();
        write(self.scratch);
        transcript.add(self.scratch);
        self.transport.send(epoch, self.scratch);
    }

    /// Builds and sends a message that belongs to no transcript: those after the handshake.
    pub(crate) fn send_after_handshake(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.scratch.clear();
        write(self.scratch);
        self.transport.send(Epoch::Application, self.scratch);
    }
}

/// Where the secrets of a connection are logged, and under what.
#[derive(Clone, Copy)]
pub(crate) struct Logged<'l> {
    pub(crate) key_log: Option<&'l dyn KeyLog>,
    pub(crate) client_random: &'l [u8; 32],
}

impl Logged<'_> {
    /// Logs a secret.
    pub(crate) fn secret(&self, label: &str, secret: &[u8]) {
        if let Some(log) = self.key_log {
            log.log(label, self.client_random, secret);
        }
    }
}

/// A suite is compared by its hash where PSKs are concerned (RFC 8446 §4.2.11).
pub(crate) fn same_hash(a: &Suite, b: &Suite) -> bool {
    // SHA-256 and SHA-384 are told apart by their lengths; no suite of TLS 1.3 has another.
    a.hash.len() == b.hash.len()
}
