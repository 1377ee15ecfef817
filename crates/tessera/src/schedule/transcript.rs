//! The transcript hash (RFC 8446 §4.4.1).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::crypto::{Digest, Hash, RunningHash};
use crate::wire::{HandshakeType, Writer, write_message};

/// The hash of all handshake messages so far.
///
/// Its input is exactly the bytes on the wire. A ClientHello with PSKs is added in two pieces, so that
/// the hash between them is what the binders cover.
pub(crate) struct Transcript(Box<dyn RunningHash>);

impl Transcript {
    /// Starts with the first bytes of the first message.
    pub(crate) fn start(hash: &dyn Hash, bytes: &[u8]) -> Self {
        let mut running = hash.start();
        running.update(bytes);
        Self(running)
    }

    /// Starts over after a HelloRetryRequest: a synthetic message with its hash replaces the first
    /// ClientHello.
    pub(crate) fn after_retry(hash: &dyn Hash, first_hello: &Digest) -> Self {
        let mut synthetic = Vec::new();
        write_message(&mut synthetic, HandshakeType::MESSAGE_HASH, |out| {
            out.bytes(first_hello.as_ref());
        });
        Self::start(hash, &synthetic)
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash so far.
    pub(crate) fn hash(&self) -> Digest {
        self.0.current()
    }
}
