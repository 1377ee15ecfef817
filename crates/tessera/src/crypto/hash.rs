//! The hash of a suite, and the HMAC and HKDF built on it.

use alloc::boxed::Box;

use super::digest::Digest;
use super::hmac_state::HmacState;
use super::secret::Secret;

/// A hash function with its HMAC (RFC 2104) and HKDF (RFC 5869).
#[expect(clippy::len_without_is_empty, reason = "the length of the output, never zero")]
pub trait Hash: Send + Sync {
    /// Returns the output length in bytes: 32 for SHA-256, 48 for SHA-384; at most
    /// [`MAX_HASH_LEN`](super::MAX_HASH_LEN).
    fn len(&self) -> usize;

    /// Starts a running hash, for the transcript.
    fn start(&self) -> Box<dyn RunningHash>;

    /// Hashes `input` in one call.
    fn hash(&self, input: &[u8]) -> Digest;

    /// Returns the hash of the empty string.
    fn hash_of_nothing(&self) -> Digest {
        self.hash(&[])
    }

    /// Returns Derive-Secret(Early Secret, "derived", "") without PSK and with TLS's labels (RFC 8446 §7.1), which is the
    /// same in every full handshake, if the implementation knows it. Default: the engine computes it.
    fn derived_without_psk(&self) -> Option<&'static [u8]> {
        None
    }

    /// Computes the HMAC of one message.
    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest;

    /// Computes HKDF-Extract(salt, input keying material) into `prk`, which is exactly one hash output long.
    fn extract_into(&self, salt: &[u8], input: &[u8], prk: &mut [u8]);

    /// Computes HKDF-Extract(salt, input keying material).
    fn extract(&self, salt: &[u8], input: &[u8]) -> Secret {
        Secret::filled_by(self.len(), |prk| self.extract_into(salt, input, prk))
    }

    /// Computes HKDF-Expand(PRK, info) into `out`, which is at most 255 hash outputs long.
    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]);

    /// Keys HMAC with a PRK that is expanded more than once. `prk` is one hash output long. Default: keeps `prk`.
    fn key_hmac(&self, prk: &[u8], state: &mut HmacState) {
        state.keep(prk);
    }

    /// Computes [`expand`](Self::expand) for the PRK of a state that this hash's [`key_hmac`](Self::key_hmac) filled.
    fn expand_keyed(&self, state: &HmacState, info: &[u8], out: &mut [u8]) {
        self.expand(state.kept(), info, out);
    }
}

/// A hash that is fed piece by piece and can be read in between.
pub trait RunningHash: Send + Sync {
    /// Adds bytes.
    fn update(&mut self, bytes: &[u8]);

    /// Returns the hash of everything so far; the running hash continues.
    fn current(&self) -> Digest;
}
