//! SHA-256 and SHA-384 with HMAC and HKDF.

use alloc::boxed::Box;
use core::marker::PhantomData;

use hmac::{EagerHash, Hmac, KeyInit, Mac};
use tessera::crypto::{Digest, Hash, MAX_HASH_LEN, RunningHash};

/// The SHA-2 hash `D`.
pub(crate) struct Sha2<D>(PhantomData<fn() -> D>);

/// SHA-256.
pub(crate) static SHA256: Sha2<sha2::Sha256> = Sha2(PhantomData);

/// SHA-384.
#[cfg(feature = "aes-gcm")]
pub(crate) static SHA384: Sha2<sha2::Sha384> = Sha2(PhantomData);

/// What is needed of a hash.
trait Sha: sha2::Digest + EagerHash + Clone + Send + Sync + 'static {}

impl<D: sha2::Digest + EagerHash + Clone + Send + Sync + 'static> Sha for D {}

/// Computes the HMAC of pieces of a message into `tag`, which may be shorter. It is one function, which all others share.
#[inline(never)]
fn mac<D: Sha>(key: &[u8], pieces: [&[u8]; 3], tag: &mut [u8]) {
    // RFC 2104 §2.
    let keyed = <Hmac<D> as KeyInit>::new_from_slice(key);
    let mut mac = keyed.expect("HMAC takes keys of any length");
    for piece in pieces {
        mac.update(piece);
    }
    tag.copy_from_slice(&mac.finalize().into_bytes()[..tag.len()]);
}

impl<D: Sha> Hash for Sha2<D> {
    fn len(&self) -> usize {
        <D as sha2::Digest>::output_size()
    }

    fn start(&self) -> Box<dyn RunningHash> {
        Box::new(Running(D::new()))
    }

    fn hash(&self, input: &[u8]) -> Digest {
        Digest::new(&D::digest(input))
    }

    fn hmac(&self, key: &[u8], message: &[u8]) -> Digest {
        let mut tag = [0; MAX_HASH_LEN];
        let tag = &mut tag[..self.len()];
        mac::<D>(key, [message, &[], &[]], tag);
        Digest::new(tag)
    }

    /// RFC 5869 §2.2: HMAC keyed with the salt.
    fn extract_into(&self, salt: &[u8], input: &[u8], prk: &mut [u8]) {
        mac::<D>(salt, [input, &[], &[]], prk);
    }

    /// RFC 5869 §2.3.
    fn expand(&self, prk: &[u8], info: &[u8], out: &mut [u8]) {
        let mut previous: &[u8] = &[];
        for (number, part) in (1..=u8::MAX).zip(out.chunks_mut(self.len())) {
            mac::<D>(prk, [previous, info, &[number]], part);
            previous = part;
        }
    }
}

struct Running<D>(D);

impl<D: Sha> RunningHash for Running<D> {
    fn update(&mut self, bytes: &[u8]) {
        sha2::Digest::update(&mut self.0, bytes);
    }

    fn current(&self) -> Digest {
        Digest::new(&self.0.clone().finalize())
    }
}
