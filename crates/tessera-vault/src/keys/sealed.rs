//! The format of sealed messages, tickets first: version, key id, salt, ciphertext, tag.
//!
//! Every message has its own AEAD key, HKDF-Expand(PRK of the sealing key, label || salt). Many servers seal
//! under one key without a common counter, so nonces would have to be random; with the 96 bits of an AEAD
//! nonce a fleet may seal only 2^32 messages per key (NIST SP 800-38D §8.3), and nothing counts for the
//! fleet. 256 bits of salt don't collide, and a key that seals one message may use the zero nonce. This costs
//! one HMAC per message.
//!
//! The header is additional data, so no two byte strings are the same ticket: single-use registers hash
//! tickets as received. It is followed by anything else that the message is bound to, such as the name under
//! which a store keeps it.

use std::borrow::Cow;

use tessera::crypto::{
    Aead, Hash, HmacState, NONCE_LEN, Nonce, Provider, Random, Secret, Suite, TAG_LEN,
};
use tessera::wire::CipherSuite;
use zeroize::Zeroizing;

const VERSION: u8 = 1;
const ID_LEN: usize = 16;
const SALT_LEN: usize = 32;
const HEADER_LEN: usize = 1 + ID_LEN + SALT_LEN;

/// How many bytes a message is longer than its plaintext.
pub(crate) const OVERHEAD: usize = HEADER_LEN + TAG_LEN;

const KEY_LEN: usize = 32;

/// The longest name of a purpose, in bytes.
const MAX_LABEL: usize = 32;

/// The algorithms that seal. All servers that share keys must choose the same.
#[derive(Clone, Copy)]
pub(crate) struct SealAlgorithms {
    /// The purpose: the same secret never serves two purposes.
    label: &'static [u8],
    /// Its AEAD seals.
    suite: &'static Suite,
    /// Its hash derives the keys.
    derives: &'static Suite,
    random: &'static dyn Random,
}

impl SealAlgorithms {
    /// Uses AES-256-GCM if the provider has it, else the AEAD of its first suite with 32-byte keys.
    ///
    /// Keys are derived with SHA-256 if the provider has it: from a uniform secret of 256 bits it derives
    /// 256-bit keys as well as SHA-384 does, and processors have instructions for it.
    ///
    /// # Panics
    /// If the label is longer than [`MAX_LABEL`]. No input can make it so: each is a constant of this crate, and each
    /// [`TicketKeyRing`](super::TicketKeyRing) and purpose of [`WrappingKeys`](super::WrappingKeys) passes here.
    pub(crate) fn new(provider: &Provider, label: &'static [u8]) -> Option<Self> {
        assert!(label.len() <= MAX_LABEL, "a label of a purpose is short");
        let fits = |suite: &&'static Suite| suite.aead.key_len() == KEY_LEN;
        let suite = provider
            .suite(CipherSuite::TLS_AES_256_GCM_SHA384)
            .filter(fits)
            .or_else(|| provider.suites.iter().copied().find(fits))?;
        let derives = provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256).unwrap_or(suite);
        Some(Self { label, suite, derives, random: provider.random })
    }

    /// Returns the PRK from which the keys of all messages are derived. It includes the algorithms: the same
    /// secret never serves two.
    pub(crate) fn prk(&self, secret: &[u8; 32]) -> Secret {
        let mut salt = self.label.to_vec();
        salt.extend_from_slice(&self.suite.id.0.to_be_bytes());
        salt.extend_from_slice(&self.derives.id.0.to_be_bytes());
        self.hash().extract(&salt, secret)
    }

    /// Returns HMAC keyed with the PRK.
    pub(crate) fn hmac(&self, prk: &Secret) -> Box<HmacState> {
        let mut state = HmacState::boxed();
        self.hash().key_hmac(prk.expose(), &mut state);
        state
    }

    /// Seals under a key; `None` without randomness.
    pub(crate) fn seal(
        &self,
        id: &[u8; ID_LEN],
        hmac: &HmacState,
        context: &[u8],
        plaintext: &[u8],
    ) -> Option<Vec<u8>> {
        let mut salt = [0; SALT_LEN];
        self.random.fill(&mut salt).ok()?;
        // Never grows: a reallocation would leave plaintext behind.
        let mut message = Vec::with_capacity(OVERHEAD + plaintext.len());
        message.push(VERSION);
        message.extend_from_slice(id);
        message.extend_from_slice(&salt);
        message.extend_from_slice(plaintext);
        let (header, in_out) = message.split_at_mut(HEADER_LEN);
        let tag = self.message_key(hmac, &salt).seal(&ZERO, &bound_to(header, context), in_out);
        message.extend_from_slice(&tag);
        Some(message)
    }

    /// Opens a message with the key that it names.
    pub(crate) fn open(
        &self,
        hmac: &HmacState,
        context: &[u8],
        message: &SealedMessage<'_>,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let mut in_out = Zeroizing::new(message.sealed.to_vec());
        let key = self.message_key(hmac, message.salt);
        let len = key.open(&ZERO, &bound_to(message.header, context), &mut in_out).ok()?;
        in_out.truncate(len);
        Some(in_out)
    }

    fn message_key(&self, hmac: &HmacState, salt: &[u8; SALT_LEN]) -> Box<dyn Aead> {
        let mut info = [0; MAX_LABEL + SALT_LEN];
        let (label, rest) = info.split_at_mut(self.label.len());
        label.copy_from_slice(self.label);
        rest[..SALT_LEN].copy_from_slice(salt);
        let mut key = Zeroizing::new([0; KEY_LEN]);
        self.hash().expand_keyed(hmac, &info[..self.label.len() + SALT_LEN], &mut *key);
        self.suite.aead.key(&*key)
    }

    fn hash(&self) -> &'static dyn Hash {
        self.derives.hash
    }
}

/// Returns the additional data. The header's length is fixed, so the encoding is injective.
fn bound_to<'a>(header: &'a [u8], context: &[u8]) -> Cow<'a, [u8]> {
    match context {
        [] => Cow::Borrowed(header),
        _ => Cow::Owned([header, context].concat()),
    }
}

const ZERO: Nonce = Nonce([0; NONCE_LEN]);

/// A message of this version, not yet opened.
pub(crate) struct SealedMessage<'a> {
    header: &'a [u8],
    pub(crate) id: &'a [u8; ID_LEN],
    salt: &'a [u8; SALT_LEN],
    sealed: &'a [u8],
}

impl<'a> SealedMessage<'a> {
    /// Parses a message; `None` if it is not of this version.
    pub(crate) fn read(message: &'a [u8]) -> Option<Self> {
        let (header, sealed) = message.split_at_checked(HEADER_LEN)?;
        let (&version, rest) = header.split_first()?;
        let (id, salt) = rest.split_first_chunk()?;
        let well_formed = version == VERSION && sealed.len() >= TAG_LEN;
        well_formed.then_some(Self { header, id, salt: salt.first_chunk()?, sealed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_version_and_a_tag() {
        let message = |version: u8, len: usize| {
            let mut message = std::vec![version; 1];
            message.resize(HEADER_LEN + len, 0);
            SealedMessage::read(&message).is_some()
        };
        assert!(message(VERSION, TAG_LEN));
        assert!(!message(VERSION, TAG_LEN - 1) && !message(VERSION + 1, TAG_LEN));
    }
}
