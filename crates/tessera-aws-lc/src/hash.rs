//! SHA-256 and SHA-384 with HMAC and HKDF.

use aws_lc_rs::{digest, hkdf, hmac};
use sha2::{Digest as _, Sha256};
use tessera::crypto::{Digest, Hash, HmacState, MAX_HASH_LEN, RunningHash};

use crate::hmac_sha256;

/// One of the SHA-2 hashes.
pub(crate) struct Sha2 {
    len: usize,
    digest: &'static digest::Algorithm,
    hmac: hmac::Algorithm,
    hkdf: hkdf::Algorithm,
    /// The hash of the empty string.
    of_nothing: &'static [u8],
    /// The salt of the Handshake Secret without PSK (RFC 8446 §7.1).
    derived_without_psk: &'static [u8],
}

/// SHA-256.
pub(crate) static SHA256: Sha2 = Sha2 {
    len: digest::SHA256_OUTPUT_LEN,
    digest: &digest::SHA256,
    hmac: hmac::HMAC_SHA256,
    hkdf: hkdf::HKDF_SHA256,
    of_nothing: b"\xe3\xb0\xc4\x42\x98\xfc\x1c\x14\x9a\xfb\xf4\xc8\x99\x6f\xb9\x24\
        \x27\xae\x41\xe4\x64\x9b\x93\x4c\xa4\x95\x99\x1b\x78\x52\xb8\x55",
    derived_without_psk: b"\x6f\x26\x15\xa1\x08\xc7\x02\xc5\x67\x8f\x54\xfc\x9d\xba\xb6\x97\
        \x16\xc0\x76\x18\x9c\x48\x25\x0c\xeb\xea\xc3\x57\x6c\x36\x11\xba",
};

/// SHA-384.
pub(crate) static SHA384: Sha2 = Sha2 {
    len: digest::SHA384_OUTPUT_LEN,
    digest: &digest::SHA384,
    hmac: hmac::HMAC_SHA384,
    hkdf: hkdf::HKDF_SHA384,
    of_nothing: b"\x38\xb0\x60\xa7\x51\xac\x96\x38\x4c\xd9\x32\x7e\xb1\xb1\xe3\x6a\
        \x21\xfd\xb7\x11\x14\xbe\x07\x43\x4c\x0c\xc7\xbf\x63\xf6\xe1\xda\
        \x27\x4e\xde\xbf\xe7\x6f\x65\xfb\xd5\x1a\xd2\xf1\x48\x98\xb9\x5b",
    derived_without_psk: b"\x15\x91\xda\xc5\xcb\xbf\x03\x30\xa4\xa8\x4d\xe9\xc7\x53\x33\x0e\
        \x92\xd0\x1f\x0a\x88\x21\x4b\x44\x64\x97\x2f\xd6\x68\x04\x9e\x93\
        \xe5\x2f\x2b\x16\xfa\xd9\x22\xfd\xc0\x58\x44\x78\x42\x8f\x28\x2b",
};

impl Sha2 {
    /// Whether transcripts and HMAC run on `sha2`.
    fn uses_sha2(&self) -> bool {
        self.len == hmac_sha256::TAG_LEN && hmac_sha256::is_fast()
    }

    /// Computes the HMAC directly into `out`, which is exactly one hash output long.
    fn hmac_into(&self, key: &[u8], message: &[u8], out: &mut [u8]) {
        if self.uses_sha2()
            && key.len() <= hmac_sha256::BLOCK_LEN
            && let Ok(tag) = out.try_into()
        {
            let mut state = HmacState::default();
            hmac_sha256::key(key, &mut state);
            return hmac_sha256::mac(&state, message, tag);
        }
        let key = hmac::Key::new(self.hmac, key);
        hmac::sign_to_buffer(&key, message, out).expect("`out` is one hash output long");
    }
}

impl Hash for Sha2 {
    fn len(&self) -> usize {
        self.len
    }

    fn start(&self) -> Box<dyn RunningHash> {
        match self.uses_sha2() {
            true => Box::new(Sha256Context(Sha256::new())),
            false => Box::new(AwsLcContext(digest::Context::new(self.digest))),
        }
    }

    fn hash(&self, input: &[u8]) -> Digest {
        Digest::new(digest::digest(self.digest, input).as_ref())
    }

    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest {
        let mut tag = [0; MAX_HASH_LEN];
        self.hmac_into(key, message, &mut tag[..self.len]);
        Digest::new(&tag[..self.len])
    }

    fn hash_of_nothing(&self) -> Digest {
        Digest::new(self.of_nothing)
    }

    fn derived_without_psk(&self) -> Option<&'static [u8]> {
        Some(self.derived_without_psk)
    }

    fn extract_into(&self, salt: &[u8], input: &[u8], prk: &mut [u8]) {
        // HKDF-Extract is HMAC keyed with the salt (RFC 5869 §2.2). `hkdf::Salt` would copy both
        // inputs to the heap and repeat the extraction for every expansion.
        self.hmac_into(salt, input, prk);
    }

    fn key_hmac(&self, prk: &[u8], state: &mut HmacState) {
        match self.uses_sha2() {
            true => hmac_sha256::key(prk, state),
            false => state.keep(prk),
        }
    }

    fn expand_keyed(&self, state: &HmacState, info: &[u8], out: &mut [u8]) {
        match self.uses_sha2() {
            true => hmac_sha256::expand(state, info, out),
            false => self.expand(state.kept(), info, out),
        }
    }

    /// # Panics
    /// If `prk` is longer than [`MAX_HASH_LEN`], which no [`Secret`](tessera::crypto::Secret) is.
    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]) {
        if self.uses_sha2() {
            let mut state = HmacState::default();
            hmac_sha256::key(prk, &mut state);
            return hmac_sha256::expand(&state, info, out);
        }
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

/// SHA-256 where the processor has instructions for it: AWS-LC copies a context on the heap for each result.
struct Sha256Context(Sha256);

impl RunningHash for Sha256Context {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn current(&self) -> Digest {
        Digest::new(&self.0.clone().finalize())
    }
}

struct AwsLcContext(digest::Context);

impl RunningHash for AwsLcContext {
    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn current(&self) -> Digest {
        Digest::new(self.0.clone().finish().as_ref())
    }
}
