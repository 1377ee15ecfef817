//! Traffic secrets: record keys, Finished and key update (RFC 8446 §4.4.4, §7.2, §7.3).

use alloc::boxed::Box;

use super::label::{KeyDerivation, Label};
use crate::crypto::{Aead, Digest, HeaderKey, MAX_HASH_LEN, NONCE_LEN, Suite, for_one_call};

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
        let len = suite.aead.key_len().min(MAX_HASH_LEN);
        self.kdf.with_keyed(self.secret, |secret| {
            let fill = |out: &mut [u8]| self.kdf.expand_label(secret, Label::KEY, &[], out);
            let key = for_one_call(len, fill, |key| suite.aead.key(key));
            let mut iv = [0; NONCE_LEN];
            self.kdf.expand_label(secret, Label::IV, &[], &mut iv);
            (key, iv)
        })
    }

    /// Derives the key that encrypts record numbers (RFC 9147 §4.2.3).
    pub(crate) fn record_number_key(&self, suite: &Suite) -> Box<dyn HeaderKey> {
        let len = suite.aead.key_len().min(MAX_HASH_LEN);
        let fill = |out: &mut [u8]| {
            self.kdf.with_keyed(self.secret, |secret| {
                self.kdf.expand_label(secret, Label::RECORD_NUMBER, &[], out);
            });
        };
        for_one_call(len, fill, |key| suite.aead.header_key(key))
    }

    /// Returns the secret itself, for the key log and for faces that protect packets themselves.
    pub fn expose(&self) -> &'s [u8] {
        self.secret
    }
}

impl KeyDerivation {
    /// Computes the verify_data of a Finished, or a PSK binder: the binder key works like a traffic secret
    /// (§4.2.11.2).
    pub(crate) fn finished(&self, secret: &[u8], transcript: &Digest) -> Digest {
        let fill = |out: &mut [u8]| {
            self.with_keyed(secret, |secret| self.expand_label(secret, Label::FINISHED, &[], out));
        };
        for_one_call(self.hash.len(), fill, |key| self.hash.hmac(key, transcript.as_ref()))
    }
}
