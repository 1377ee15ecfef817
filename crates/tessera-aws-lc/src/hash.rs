//! SHA-256 and SHA-384 with HMAC and HKDF.

use aws_lc_rs::{digest, hkdf, hmac};
use tessera::crypto::{Digest, Hash, MAX_HASH_LEN, RunningHash, Secret};

/// One of the SHA-2 hashes.
pub(crate) struct Sha2 {
    len: usize,
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    hkdf: hkdf::Algorithm,
}

/// SHA-256.
pub(crate) static SHA256: Sha2 = Sha2 {
    len: digest::SHA256_OUTPUT_LEN,
    digest: &digest::SHA256,
    hmac: hmac::HMAC_SHA256,
    hkdf: hkdf::HKDF_SHA256,
};

/// SHA-384.
pub(crate) static SHA384: Sha2 = Sha2 {
    len: digest::SHA384_OUTPUT_LEN,
    digest: &digest::SHA384,
    hmac: hmac::HMAC_SHA384,
    hkdf: hkdf::HKDF_SHA384,
};

impl Sha2 {
    /// Computes the HMAC directly into `out`, which is exactly one hash output long.
    fn hmac_into(&self, key: &[u8], message: &[u8], out: &mut [u8]) {
        let key = hmac::Key::new(self.hmac, key);
        hmac::sign_to_buffer(&key, message, out).expect("`out` is one hash output long");
    }
}

impl Hash for Sha2 {
    fn len(&self) -> usize {
        self.len
    }

    fn start(&self) -> Box<dyn RunningHash> {
        Box::new(HashContext(digest::Context::new(self.digest)))
    }

    fn hash(&self, input: &[u8]) -> Digest {
        Digest::new(digest::digest(self.digest, input).as_ref())
    }

    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest {
        let mut tag = [0; MAX_HASH_LEN];
        self.hmac_into(key, message, &mut tag[..self.len]);
        Digest::new(&tag[..self.len])
    }

    fn extract(&self, salt: &[u8], input: &[u8]) -> Secret {
        // HKDF-Extract is HMAC keyed with the salt (RFC 5869 §2.2). `hkdf::Salt` would copy both
        // inputs to the heap and repeat the extraction for every expansion.
        Secret::filled_by(self.len, |out| self.hmac_into(salt, input, out))
    }

    /// # Panics
    /// If `prk` is longer than [`MAX_HASH_LEN`], which no [`Secret`] is.
    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]) {
        // HKDF_expand works on the stack and keys its HMAC once; `hmac::sign` would copy the keyed
        // context for every block.
        hkdf::Prk::new_less_safe(self.hkdf, prk)
            .expand(&[info], OutputLen(out.len()))
            .and_then(|output| output.fill(out))
            .expect("at most 255 hash outputs are asked for");
    }
}

/// The output length of HKDF-Expand.
struct OutputLen(usize);

impl hkdf::KeyType for OutputLen {
    fn len(&self) -> usize {
        self.0
    }
}

struct HashContext(digest::Context);

impl RunningHash for HashContext {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn current(&self) -> Digest {
        Digest::new(self.0.clone().finish().as_ref())
    }
}
