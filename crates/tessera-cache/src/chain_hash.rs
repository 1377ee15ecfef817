//! The name of a chain: a hash that both ends compute.

use core::fmt;

/// SHA-256 over a Certificate message in the form of TLS 1.2, as RFC 7924 §5 hashes it: without the request
/// context and without the extensions of entries, such as OCSP responses, which change while the chain stays.
/// A raw public key (RFC 7250) replaces the list of certificates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainHash(pub [u8; 32]);

impl ChainHash {
    /// Its length in bytes.
    pub const LEN: usize = 32;
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("..")
    }
}

/// Returns the first bytes of a hash output, which must have that many.
pub(crate) fn first<const N: usize>(output: &[u8]) -> [u8; N] {
    output.first_chunk().copied().unwrap_or([0; N])
}
