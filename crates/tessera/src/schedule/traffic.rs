//! Traffic secrets: record keys, Finished and key update (RFC 8446 §4.4.4, §7.2, §7.3).

use alloc::boxed::Box;

use super::label::KeyDerivation;
use crate::crypto::{
    Aead, Digest, HmacState, MAX_HASH_LEN, NONCE_LEN, Secret, Suite, for_one_call,
};

/// A traffic secret of one direction and epoch.
pub struct TrafficSecret {
    kdf: KeyDerivation,
    secret: Secret,
}

impl TrafficSecret {
    pub(crate) fn new(kdf: KeyDerivation, secret: Secret) -> Self {
        Self { kdf, secret }
    }

    /// Computes the verify_data of a Finished.
    pub(crate) fn finished(&self, transcript: &Digest) -> Digest {
        self.kdf.finished(self.secret.expose(), transcript)
    }

    /// Derives the record key and write IV.
    pub(crate) fn record_keys(&self, suite: &Suite) -> (Box<dyn Aead>, [u8; NONCE_LEN]) {
        let len = suite.aead.key_len().min(MAX_HASH_LEN);
        self.kdf.with_keyed(self.secret.expose(), |secret| {
            let fill = |out: &mut [u8]| self.kdf.expand_label(secret, b"key", &[], out);
            let key = for_one_call(len, fill, |key| suite.aead.key(key));
            let mut iv = [0; NONCE_LEN];
            self.kdf.expand_label(secret, b"iv", &[], &mut iv);
            (key, iv)
        })
    }

    /// Derives the secret after a KeyUpdate.
    pub(crate) fn next(&self) -> Self {
        let kdf = self.kdf;
        let next = |secret: &HmacState| kdf.expand_label_to_secret(secret, b"traffic upd", &[]);
        Self { kdf, secret: kdf.with_keyed(self.secret.expose(), next) }
    }

    /// Returns the secret itself, for the key log and for faces that protect packets themselves.
    pub fn expose(&self) -> &[u8] {
        self.secret.expose()
    }
}

impl KeyDerivation {
    /// Computes the verify_data of a Finished, or a PSK binder: the binder key works like a traffic secret
    /// (§4.2.11.2).
    pub(crate) fn finished(&self, secret: &[u8], transcript: &Digest) -> Digest {
        let fill = |out: &mut [u8]| {
            self.with_keyed(secret, |secret| self.expand_label(secret, b"finished", &[], out));
        };
        for_one_call(self.hash.len(), fill, |key| self.hash.hmac(key, transcript.as_ref()))
    }
}
