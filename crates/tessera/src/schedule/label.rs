//! HKDF-Expand-Label and Derive-Secret (RFC 8446 §7.1).

use super::profile::Profile;
use crate::crypto::{Digest, Hash, MAX_HASH_LEN, Secret, for_one_call};

/// The hash of the handshake and the prefix of its labels, which every derivation needs.
#[derive(Clone, Copy)]
pub(crate) struct KeyDerivation {
    pub(crate) hash: &'static dyn Hash,
    pub(crate) profile: &'static Profile,
}

impl KeyDerivation {
    /// Computes HKDF-Expand-Label(Secret, Label, Context, length of `out`).
    pub(crate) fn expand_label(&self, secret: &[u8], label: &[u8], context: &[u8], out: &mut [u8]) {
        let prefix = self.profile.label_prefix;
        // struct { uint16 length; opaque label<7..255>; opaque context<0..255>; } HkdfLabel;
        let mut info = [0; MAX_INFO];
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
        self.hash.expand(secret, &info[..len], out);
    }

    /// Computes HKDF-Expand-Label to one hash output.
    pub(crate) fn expand_label_to_secret(
        &self,
        secret: &Secret,
        label: &[u8],
        context: &[u8],
    ) -> Secret {
        Secret::filled_by(self.hash.len(), |out| {
            self.expand_label(secret.expose(), label, context, out);
        })
    }

    /// Computes Derive-Secret(Secret, Label, Messages), given the hash of the messages.
    pub(crate) fn derive_secret(
        &self,
        secret: &Secret,
        label: &[u8],
        transcript: &Digest,
    ) -> Secret {
        self.expand_label_to_secret(secret, label, transcript.as_ref())
    }

    /// Computes the next Extract, with Derive-Secret(Secret, "derived", "") as its salt.
    pub(crate) fn extract_next(&self, secret: &Secret, input: &[u8]) -> Secret {
        self.with_derived(secret, b"derived", |salt| self.hash.extract(salt, input))
    }

    /// Computes Derive-Secret(Secret, Label, "") on the stack, for one call.
    pub(crate) fn with_derived<R>(
        &self,
        secret: &Secret,
        label: &[u8],
        each: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let empty = self.hash.hash(&[]);
        let fill = |out: &mut [u8]| {
            self.expand_label(secret.expose(), label, empty.as_ref(), out);
        };
        for_one_call(self.hash.len(), fill, each)
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
