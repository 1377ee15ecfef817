//! HKDF-Expand-Label and Derive-Secret (RFC 8446 §7.1).

use zeroize::Zeroizing;

use super::profile::Profile;
use crate::crypto::{Digest, Hash, HmacState, MAX_HASH_LEN, Secret, SecretBlock, for_one_call};

/// The hash of the handshake and the prefix of its labels, which every derivation needs.
#[derive(Clone, Copy)]
pub(crate) struct KeyDerivation {
    pub(crate) hash: &'static dyn Hash,
    pub(crate) profile: &'static Profile,
}

impl KeyDerivation {
    /// Computes HKDF-Expand-Label(Secret, Label, Context, length of `out`).
    pub(crate) fn expand_label(
        &self,
        secret: &HmacState,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) {
        let len = 2 + (1 + self.profile.label_prefix.len() + label.len()) + (1 + context.len());
        match len <= SHORT_INFO {
            true => self.expand_info::<SHORT_INFO>(secret, label, context, out),
            false => self.expand_info::<MAX_INFO>(secret, label, context, out),
        }
    }

    fn expand_info<const MAX: usize>(
        &self,
        secret: &HmacState,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) {
        let prefix = self.profile.label_prefix;
        // struct { uint16 length; opaque label<7..255>; opaque context<0..255>; } HkdfLabel;
        let mut info = [0; MAX];
        let mut len = 0;
        let mut put = |bytes: &[u8]| {
            info[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        };
        put(&(out.len() as u16).to_be_bytes());
        put(&[(prefix.len() + label.len()) as u8]);
        put(prefix);
        put(label);
        put(&[context.len() as u8]);
        put(context);
        self.hash.expand_keyed(secret, &info[..len], out);
    }

    /// Keys HMAC with a secret on the stack, for one call.
    pub(crate) fn with_keyed<R>(&self, secret: &[u8], each: impl FnOnce(&HmacState) -> R) -> R {
        let mut state = HmacState::default();
        self.hash.key_hmac(secret, &mut state);
        each(&state)
    }

    /// Computes HKDF-Expand-Label to one hash output.
    pub(crate) fn expand_label_to_secret(
        &self,
        secret: &HmacState,
        label: &[u8],
        context: &[u8],
    ) -> Secret {
        Secret::filled_by(self.hash.len(), |out| self.expand_label(secret, label, context, out))
    }

    /// Computes Derive-Secret(Secret, Label, Messages), given the hash of the messages.
    pub(crate) fn derive_secret(
        &self,
        secret: &HmacState,
        label: &[u8],
        transcript: &Digest,
    ) -> Secret {
        self.expand_label_to_secret(secret, label, transcript.as_ref())
    }

    /// Computes HKDF-Extract, and keys `prk` with it.
    pub(crate) fn extract(&self, salt: &[u8], input: &[u8], prk: &mut HmacState) {
        let fill = |out: &mut [u8]| self.hash.extract_into(salt, input, out);
        for_one_call(self.hash.len(), fill, |secret| self.hash.key_hmac(secret, prk));
    }

    /// Keys HMAC with HKDF-Extract on the stack, for one call.
    pub(crate) fn with_extracted<R>(
        &self,
        salt: &[u8],
        input: &[u8],
        each: impl FnOnce(&HmacState) -> R,
    ) -> R {
        let mut prk = HmacState::default();
        self.extract(salt, input, &mut prk);
        each(&prk)
    }

    /// Replaces a secret by the next Extract, with Derive-Secret(Secret, "derived", "") as its salt.
    pub(crate) fn extract_next(&self, secret: &mut HmacState, input: &[u8]) {
        let mut block = Zeroizing::new(SecretBlock::default());
        let salt = &mut block.0[..self.hash.len()];
        self.derive_of_nothing(secret, b"derived", salt);
        self.extract(salt, input, secret);
    }

    /// Replaces a secret by Derive-Secret(Secret, Label, Messages), given the hash of the messages.
    pub(crate) fn derive_next(&self, secret: &mut HmacState, label: &[u8], transcript: &Digest) {
        let mut block = Zeroizing::new(SecretBlock::default());
        let derived = &mut block.0[..self.hash.len()];
        self.expand_label(secret, label, transcript.as_ref(), derived);
        self.hash.key_hmac(derived, secret);
    }

    /// Computes Derive-Secret(Secret, Label, "") on the stack, for one call.
    pub(crate) fn with_derived<R>(
        &self,
        secret: &HmacState,
        label: &[u8],
        each: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let fill = |out: &mut [u8]| self.derive_of_nothing(secret, label, out);
        for_one_call(self.hash.len(), fill, each)
    }

    fn derive_of_nothing(&self, secret: &HmacState, label: &[u8], out: &mut [u8]) {
        self.expand_label(secret, label, self.hash.hash_of_nothing().as_ref(), out);
    }

    /// Returns one hash output of zeros, which replaces an absent input.
    pub(crate) fn zeros(&self) -> &'static [u8] {
        &[0; MAX_HASH_LEN][..self.hash.len()]
    }
}

/// The longest label, its prefix included.
pub(crate) const MAX_LABEL: usize = 255;

/// The longest HkdfLabel: where the label may be that long, the context is a hash; where the context is a nonce
/// of up to 255 bytes, the label is short.
const MAX_INFO: usize = 2 + (1 + MAX_LABEL) + (1 + MAX_HASH_LEN);

/// Long enough for each HkdfLabel of the key schedule.
const SHORT_INFO: usize = 2 + (1 + 18) + (1 + MAX_HASH_LEN);
