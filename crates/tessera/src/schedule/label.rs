//! HKDF-Expand-Label and Derive-Secret (RFC 8446 §7.1).

use zeroize::Zeroizing;

use super::profile::{LABEL_PREFIX_LEN, Profile};
use crate::crypto::{Digest, Hash, HmacState, MAX_HASH_LEN, Secret, SecretBlock, for_one_call};

/// The hash of the handshake and the prefix of its labels, which every derivation needs.
#[derive(Clone, Copy)]
pub(crate) struct KeyDerivation {
    pub(crate) hash: &'static dyn Hash,
    pub(crate) profile: &'static Profile,
}

/// A label of the key schedule, without its prefix.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    /// Of fixed length, to be copied in one piece.
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Label {
    const MAX: usize = 16;

    pub(crate) const DERIVED: Self = Self::new(b"derived");
    pub(crate) const EXTERNAL_BINDER: Self = Self::new(b"ext binder");
    pub(crate) const RESUMPTION_BINDER: Self = Self::new(b"res binder");
    /// RFC 9258 §5.2.
    pub(crate) const IMPORTED_BINDER: Self = Self::new(b"imp binder");
    pub(crate) const CLIENT_EARLY_TRAFFIC: Self = Self::new(b"c e traffic");
    pub(crate) const CLIENT_HANDSHAKE_TRAFFIC: Self = Self::new(b"c hs traffic");
    pub(crate) const SERVER_HANDSHAKE_TRAFFIC: Self = Self::new(b"s hs traffic");
    pub(crate) const CLIENT_APPLICATION_TRAFFIC: Self = Self::new(b"c ap traffic");
    pub(crate) const SERVER_APPLICATION_TRAFFIC: Self = Self::new(b"s ap traffic");
    /// docs/kem-auth.md.
    pub(crate) const CLIENT_AUTHENTICATED_TRAFFIC: Self = Self::new(b"c ahs traffic");
    /// docs/kem-auth.md.
    pub(crate) const SERVER_AUTHENTICATED_TRAFFIC: Self = Self::new(b"s ahs traffic");
    pub(crate) const EXPORTER_MASTER: Self = Self::new(b"exp master");
    pub(crate) const RESUMPTION_MASTER: Self = Self::new(b"res master");
    pub(crate) const KEY: Self = Self::new(b"key");
    pub(crate) const IV: Self = Self::new(b"iv");
    /// RFC 9147 §4.2.3.
    pub(crate) const RECORD_NUMBER: Self = Self::new(b"sn");
    pub(crate) const FINISHED: Self = Self::new(b"finished");
    /// docs/kem-auth.md.
    pub(crate) const CLIENT_FINISHED: Self = Self::new(b"client finished");
    /// docs/kem-auth.md.
    pub(crate) const SERVER_FINISHED: Self = Self::new(b"server finished");
    pub(crate) const TRAFFIC_UPDATE: Self = Self::new(b"traffic upd");
    pub(crate) const EXPORTER: Self = Self::new(b"exporter");
    pub(crate) const RESUMPTION: Self = Self::new(b"resumption");
    /// RFC 9258 §5.1.
    pub(crate) const DERIVED_PSK: Self = Self::new(b"derived psk");
    /// docs/0rtt-fs.md.
    pub(crate) const FORWARD_SECRET: Self = Self::new(b"0rttfs");
    /// docs/0rtt-fs.md §15.2.
    pub(crate) const FORWARD_SECRET_PROOF: Self = Self::new(b"fs proof");
    /// docs/kem-auth.md §9.
    pub(crate) const KNOWN_KEY: Self = Self::new(b"known key");
    /// docs/cached-handshakes.md.
    pub(crate) const CERTIFICATE_TICKET: Self = Self::new(b"bithac ticket");

    const fn new(label: &[u8]) -> Self {
        let mut bytes = [0; Self::MAX];
        bytes.split_at_mut(label.len()).0.copy_from_slice(label);
        Self { bytes, len: label.len() as u8 }
    }
}

impl KeyDerivation {
    /// Computes HKDF-Expand-Label(Secret, Label, Context, length of `out`).
    pub(crate) fn expand_label(
        &self,
        secret: &HmacState,
        label: Label,
        context: &[u8],
        out: &mut [u8],
    ) {
        if context.len() > MAX_HASH_LEN {
            let label = &label.bytes[..usize::from(label.len)];
            return self.expand_any_label(secret, label, context, out);
        }
        // struct { uint16 length; opaque label<7..255>; opaque context<0..255>; } HkdfLabel;
        let mut info = [0; PREFIX_END + Label::MAX + 1 + MAX_HASH_LEN];
        [info[0], info[1]] = (out.len() as u16).to_be_bytes();
        info[2] = LABEL_PREFIX_LEN as u8 + label.len;
        info[3..PREFIX_END].copy_from_slice(self.profile.label_prefix);
        info[PREFIX_END..PREFIX_END + Label::MAX].copy_from_slice(&label.bytes);
        let rest = &mut info[PREFIX_END + usize::from(label.len)..];
        rest[0] = context.len() as u8;
        rest[1..=context.len()].copy_from_slice(context);
        let len = PREFIX_END + usize::from(label.len) + 1 + context.len();
        self.hash.expand_keyed(secret, &info[..len], out);
    }

    /// Computes HKDF-Expand-Label with a label of an exporter, or a long context.
    fn expand_any_label(&self, secret: &HmacState, label: &[u8], context: &[u8], out: &mut [u8]) {
        let mut info = [0; MAX_INFO];
        let mut len = 0;
        let mut put = |bytes: &[u8]| {
            info[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        };
        put(&(out.len() as u16).to_be_bytes());
        put(&[(LABEL_PREFIX_LEN + label.len()) as u8]);
        put(self.profile.label_prefix);
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
        label: Label,
        context: &[u8],
    ) -> Secret {
        Secret::filled_by(self.hash.len(), |out| self.expand_label(secret, label, context, out))
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
        self.derive_of_nothing(secret, Label::DERIVED, salt);
        self.extract(salt, input, secret);
    }

    /// Replaces a secret by Derive-Secret(Secret, Label, Messages), given the hash of the messages.
    pub(crate) fn derive_next(&self, secret: &mut HmacState, label: Label, transcript: &Digest) {
        let mut block = Zeroizing::new(SecretBlock::default());
        let derived = &mut block.0[..self.hash.len()];
        self.expand_label(secret, label, transcript.as_ref(), derived);
        self.hash.key_hmac(derived, secret);
    }

    /// Computes Derive-Secret(Secret, Label, "") on the stack, for one call.
    pub(crate) fn with_derived<R>(
        &self,
        secret: &HmacState,
        label: Label,
        each: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let fill = |out: &mut [u8]| self.derive_of_nothing(secret, label, out);
        for_one_call(self.hash.len(), fill, each)
    }

    /// The same with a label of an exporter.
    pub(crate) fn with_derived_for_exporter<R>(
        &self,
        secret: &HmacState,
        label: &[u8],
        each: impl FnOnce(&[u8]) -> R,
    ) -> R {
        let nothing = self.hash.hash_of_nothing();
        let fill = |out: &mut [u8]| self.expand_any_label(secret, label, nothing.as_ref(), out);
        for_one_call(self.hash.len(), fill, each)
    }

    fn derive_of_nothing(&self, secret: &HmacState, label: Label, out: &mut [u8]) {
        self.expand_label(secret, label, self.hash.hash_of_nothing().as_ref(), out);
    }

    /// Returns Derive-Secret(Early Secret, "derived", "") without PSK, if it is known.
    pub(crate) fn derived_without_psk(&self) -> Option<&'static [u8]> {
        self.hash.derived_without_psk().filter(|_| self.profile.has_labels_of_tls())
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

/// Where the label's prefix ends in an HkdfLabel.
const PREFIX_END: usize = 2 + 1 + LABEL_PREFIX_LEN;
