//! One key of the pool, and the form of the tickets under it: `name ‖ IV ‖ AES-256-CBC ‖ HMAC-SHA256` of all before.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::cipher::{
    AES_256, DecryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey,
    UnboundCipherKey,
};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;
use tessera::crypto::{Provider, wipe_stack_below};
use zeroize::Zeroizing;

/// A ticket key as Envoy takes it, ready for use. Its holder can open every ticket sealed under it, and impersonate every
/// client that has one. It is wiped with its last clone.
#[derive(Clone)]
pub struct EnvoyKey {
    parts: Arc<KeyParts>,
    seals_until: Duration,
    opens_until: Duration,
}

struct KeyParts {
    name: [u8; NAME_LEN],
    mac: hmac::Key,
    encrypting: PaddedBlockEncryptingKey,
    decrypting: PaddedBlockDecryptingKey,
}

/// The length of a key in bytes: 16 of name, 32 for HMAC-SHA256, 32 for AES-256.
pub const ENVOY_KEY_LEN: usize = 80;

const NAME_LEN: usize = 16;
const IV_LEN: usize = 16;
const MAC_LEN: usize = 32;

impl EnvoyKey {
    /// Takes a key of [`ENVOY_KEY_LEN`] bytes. It seals until `seals_until` and opens until `opens_until`, both since the
    /// Unix epoch and exclusive; with [`Duration::ZERO`] it never does.
    ///
    /// # Errors
    /// Returns an error if the key has another length, or isn't random: Envoy would seal under 80 zeros too.
    pub fn new(
        provider: &Provider,
        key: &[u8],
        seals_until: Duration,
        opens_until: Duration,
    ) -> Result<Self, EnvoyKeyError> {
        let key: &[u8; ENVOY_KEY_LEN] = key.try_into().map_err(|_| EnvoyKeyError::Length)?;
        // An unset variable or an empty store yields one repeated byte.
        let mut halves = key[NAME_LEN..].chunks(16);
        if halves.any(|half| half.iter().all(|byte| *byte == half[0])) {
            return Err(EnvoyKeyError::NotRandom);
        }
        let parts = KeyParts::expanded(key);
        wipe_stack_below(provider.stack_depth.derivation);
        let parts = parts.map_err(|_| EnvoyKeyError::Cipher)?;
        Ok(Self { parts, seals_until, opens_until })
    }

    /// Returns the name, which is in the clear in every ticket.
    #[must_use]
    pub fn name(&self) -> &[u8; 16] {
        &self.parts.name
    }

    pub(crate) fn seals(&self, unix: Duration) -> bool {
        unix < self.seals_until
    }

    pub(crate) fn opens(&self, unix: Duration) -> bool {
        unix < self.opens_until
    }

    /// Returns whether a ticket names this key.
    pub(crate) fn is_named_by(&self, ticket: &[u8]) -> bool {
        ticket.starts_with(&self.parts.name)
    }

    /// Seals what has room for another block; `None` without randomness.
    pub(crate) fn seal(&self, mut contents: Zeroizing<Vec<u8>>) -> Option<Vec<u8>> {
        let context = self.parts.encrypting.encrypt(&mut *contents).ok()?;
        let DecryptionContext::Iv128(iv) = context else { return None };
        let mut ticket = [&self.parts.name[..], iv.as_ref(), &contents[..]].concat();
        let mac = hmac::sign(&self.parts.mac, &ticket);
        ticket.extend_from_slice(mac.as_ref());
        Some(ticket)
    }

    /// Opens a ticket under this key. Decrypts only what the MAC proves to be of a holder of the key: unpadding is no
    /// oracle.
    pub(crate) fn open(&self, ticket: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (sealed, mac) = ticket.split_last_chunk::<MAC_LEN>()?;
        hmac::verify(&self.parts.mac, sealed, mac).ok()?;
        // The MAC is of the name too.
        let (_, rest) = sealed.split_first_chunk::<NAME_LEN>()?;
        let (iv, ciphertext) = rest.split_first_chunk::<IV_LEN>()?;
        let mut contents = Zeroizing::new(ciphertext.to_vec());
        let context = DecryptionContext::Iv128(FixedLength::from(iv));
        let len = self.parts.decrypting.decrypt(&mut contents, context).ok()?.len();
        contents.truncate(len);
        Some(contents)
    }
}

impl KeyParts {
    #[inline(never)]
    fn expanded(key: &[u8; ENVOY_KEY_LEN]) -> Result<Arc<Self>, Unspecified> {
        let (name, secrets) = key.split_at(NAME_LEN);
        let (mac, cipher) = secrets.split_at(MAC_LEN);
        let cipher = || UnboundCipherKey::new(&AES_256, cipher);
        Ok(Arc::new(Self {
            name: name.try_into().map_err(|_| Unspecified)?,
            mac: hmac::Key::new(hmac::HMAC_SHA256, mac),
            encrypting: PaddedBlockEncryptingKey::cbc_pkcs7(cipher()?)?,
            decrypting: PaddedBlockDecryptingKey::cbc_pkcs7(cipher()?)?,
        }))
    }
}

impl fmt::Debug for EnvoyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnvoyKey")
            .field("name", &self.parts.name)
            .field("seals_until", &self.seals_until)
            .field("opens_until", &self.opens_until)
            .finish_non_exhaustive()
    }
}

/// Why keys were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvoyKeyError {
    /// The key is not [`ENVOY_KEY_LEN`] bytes long.
    Length,
    /// Half of a secret in the key is one repeated byte.
    NotRandom,
    /// Two keys have the same name.
    DuplicateName,
    /// The library refused the key.
    Cipher,
}

impl fmt::Display for EnvoyKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "a ticket key of Envoy must have 80 bytes",
            Self::NotRandom => {
                "a ticket key contains one byte 16 times in a row: use random bytes (openssl rand 80)"
            }
            Self::DuplicateName => "two ticket keys have the same name: remove one",
            Self::Cipher => "the cryptographic library refused a ticket key",
        })
    }
}

impl std::error::Error for EnvoyKeyError {}
