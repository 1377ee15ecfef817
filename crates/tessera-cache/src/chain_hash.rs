//! The name of a chain: a hash that both ends compute.

use core::fmt;

use tessera::crypto::{Hash, Provider};

use crate::bytes::len24;

/// SHA-256 over a Certificate message in the form of TLS 1.2, as RFC 7924 §5 hashes it: without the
/// request context and without the extensions of entries, such as OCSP responses, which change while the
/// chain stays. A raw public key (RFC 7250) stands where the list of certificates would.
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

/// HandshakeType certificate.
const CERTIFICATE: u8 = 11;

/// The hash of a list of certificates, each with its length; the list comes in parts.
pub(crate) fn hash_of_list(sha256: &dyn Hash, list: &[&[u8]]) -> ChainHash {
    hash_of(sha256, list)
}

/// The hash of a raw public key.
pub(crate) fn hash_of_raw_key(sha256: &dyn Hash, key: &[u8]) -> ChainHash {
    hash_of(sha256, &[key])
}

fn hash_of(sha256: &dyn Hash, parts: &[&[u8]]) -> ChainHash {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let mut running = sha256.start();
    running.update(&[CERTIFICATE]);
    running.update(&len24(3 + len));
    running.update(&len24(len));
    parts.iter().for_each(|part| running.update(part));
    ChainHash(first(running.current().as_ref()))
}

/// The provider's SHA-256.
pub(crate) fn sha256_of(provider: &Provider) -> Option<&'static dyn Hash> {
    let hashes = provider.suites.iter().map(|suite| suite.hash);
    hashes.into_iter().find(|hash| hash.len() == ChainHash::LEN)
}

/// The first bytes of a hash output, which has as many.
pub(crate) fn first<const N: usize>(output: &[u8]) -> [u8; N] {
    output.first_chunk().copied().unwrap_or([0; N])
}
