//! Authenticated encryption, in place.

use alloc::boxed::Box;

/// Length of every TLS 1.3 nonce, in bytes (RFC 8446 §5.3).
pub const NONCE_LEN: usize = 12;

/// Length of the authentication tag of every suite here, in bytes.
pub const TAG_LEN: usize = 16;

/// Length of the ciphertext sample for header protection, in bytes (RFC 9001 §5.4.2).
pub const SAMPLE_LEN: usize = 16;

/// Length of a header's mask, in bytes (RFC 9001 §5.4.1).
pub const MASK_LEN: usize = 5;

/// An AEAD algorithm.
pub trait AeadAlgorithm: Send + Sync {
    /// Returns the key length in bytes: 16 or 32.
    fn key_len(&self) -> usize;

    /// Prepares a key of exactly [`key_len`](Self::key_len) bytes.
    fn key(&self, key: &[u8]) -> Box<dyn Aead>;

    /// Prepares a key of exactly [`key_len`](Self::key_len) bytes that protects the headers of datagrams:
    /// record numbers in DTLS (RFC 9147 §4.2.3), packet numbers in QUIC (RFC 9001 §5.4).
    fn header_key(&self, key: &[u8]) -> Box<dyn HeaderKey>;
}

/// One AEAD key. The caller must not use a nonce twice.
pub trait Aead: Send + Sync {
    /// Encrypts `in_out` in place and returns the tag.
    fn seal(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> [u8; TAG_LEN];

    /// Checks the tag at the end of `in_out`, decrypts in place and returns the length of the plaintext
    /// without the tag.
    fn open(&self, nonce: &Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<usize, OpenFailed>;
}

/// A key that masks headers, with AES or ChaCha20 according to the suite.
pub trait HeaderKey: Send + Sync {
    /// Returns the mask for a header whose ciphertext has `sample` at the protocol's sample offset.
    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> [u8; MASK_LEN];
}

/// The nonce of one record.
#[derive(Clone, Copy)]
pub struct Nonce(pub [u8; NONCE_LEN]);

impl Nonce {
    /// Computes the record number, left-padded, XORed with the write IV (RFC 8446 §5.3).
    pub fn for_record(iv: &[u8; NONCE_LEN], record_number: u64) -> Self {
        let mut nonce = *iv;
        for (byte, number) in nonce[4..].iter_mut().zip(record_number.to_be_bytes()) {
            *byte ^= number;
        }
        Self(nonce)
    }
}

/// The ciphertext or its additional data is not what was sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFailed;

impl core::fmt::Display for OpenFailed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the ciphertext or its additional data was changed")
    }
}

impl core::error::Error for OpenFailed {}
