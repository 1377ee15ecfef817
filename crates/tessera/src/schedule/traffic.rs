//! Traffic secrets: record keys, Finished and key update (RFC 8446 §4.4.4, §7.2, §7.3).

use alloc::boxed::Box;

use zeroize::Zeroize;

use super::label::{KeyDerivation, Label};
use crate::crypto::{
    Aead, Digest, HeaderKey, HmacState, MAX_HASH_LEN, NONCE_LEN, SecretBlock, Suite, for_one_call,
};

/// A traffic secret of one direction and epoch, borrowed from the slab.
#[derive(Clone, Copy)]
pub struct TrafficSecret<'s> {
    kdf: KeyDerivation,
    secret: &'s [u8],
}

impl<'s> TrafficSecret<'s> {
    pub(super) fn new(kdf: KeyDerivation, secret: &'s [u8]) -> Self {
        Self { kdf, secret }
    }

    /// Computes the verify_data of a Finished.
    pub(crate) fn finished(&self, transcript: &Digest) -> Digest {
        self.kdf.finished(self.secret, transcript)
    }

    /// Derives the record key and write IV.
    pub(crate) fn record_keys(&self, suite: &Suite) -> (Box<dyn Aead>, [u8; NONCE_LEN]) {
        self.kdf.with_keyed(self.secret, |secret| self.kdf.record_keys(secret, suite))
    }

    /// Derives the same, and the key that encrypts record numbers (RFC 9147 §4.2.3).
    pub(crate) fn datagram_keys(
        &self,
        suite: &Suite,
    ) -> (Box<dyn Aead>, [u8; NONCE_LEN], Box<dyn HeaderKey>) {
        self.kdf.with_keyed(self.secret, |secret| {
            let (aead, iv) = self.kdf.record_keys(secret, suite);
            let fill = |out: &mut [u8]| {
                self.kdf.expand_label(secret, Label::RECORD_NUMBER, &[], out);
            };
            let numbers = for_one_call(key_len(suite), fill, |key| suite.aead.header_key(key));
            (aead, iv, numbers)
        })
    }

    /// Copies the secret, for keys that are derived again when they are needed.
    pub(crate) fn keep(&self) -> Box<KeptTrafficSecret> {
        KeptTrafficSecret::new(self.kdf, self.secret)
    }

    /// Returns the secret itself, for the key log and for faces that protect packets themselves.
    pub fn expose(&self) -> &'s [u8] {
        self.secret
    }
}

/// A traffic secret that outlives the handshake's.
pub(crate) struct KeptTrafficSecret {
    kdf: KeyDerivation,
    block: SecretBlock,
}

impl KeptTrafficSecret {
    /// Copies one, of at most a hash's length.
    pub(crate) fn new(kdf: KeyDerivation, secret: &[u8]) -> Box<Self> {
        let mut kept = Box::new(Self { kdf, block: SecretBlock::UNFILLED });
        kept.block.0[..secret.len()].copy_from_slice(secret);
        kept
    }

    /// Borrows it.
    pub(crate) fn traffic(&self) -> TrafficSecret<'_> {
        TrafficSecret::new(self.kdf, &self.block.0[..self.kdf.hash.len()])
    }
}

impl Drop for KeptTrafficSecret {
    fn drop(&mut self) {
        self.block.zeroize();
    }
}

impl KeyDerivation {
    fn record_keys(self, secret: &HmacState, suite: &Suite) -> (Box<dyn Aead>, [u8; NONCE_LEN]) {
        let fill = |out: &mut [u8]| self.expand_label(secret, Label::KEY, &[], out);
        let key = for_one_call(key_len(suite), fill, |key| suite.aead.key(key));
        let mut iv = [0; NONCE_LEN];
        self.expand_label(secret, Label::IV, &[], &mut iv);
        (key, iv)
    }

    /// Computes the verify_data of a Finished, or a PSK binder: the binder key works like a traffic secret
    /// (§4.2.11.2).
    pub(crate) fn finished(&self, secret: &[u8], transcript: &Digest) -> Digest {
        let fill = |out: &mut [u8]| {
            self.with_keyed(secret, |secret| self.expand_label(secret, Label::FINISHED, &[], out));
        };
        for_one_call(self.hash.len(), fill, |key| self.hash.hmac(key, transcript.as_ref()))
    }

    /// Computes the verify_data of a Finished whose key is derived under this label (docs/kem-auth.md).
    pub(crate) fn verify_data(
        &self,
        secret: &HmacState,
        label: Label,
        transcript: &Digest,
    ) -> Digest {
        let fill = |out: &mut [u8]| self.expand_label(secret, label, &[], out);
        for_one_call(self.hash.len(), fill, |key| self.hash.hmac(key, transcript.as_ref()))
    }
}

fn key_len(suite: &Suite) -> usize {
    suite.aead.key_len().min(MAX_HASH_LEN)
}
