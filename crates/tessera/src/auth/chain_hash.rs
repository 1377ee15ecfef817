//! The hash of a chain, computed alike by both ends.

use alloc::boxed::Box;

use crate::crypto::{Hash, RunningHash};
use crate::wire::HandshakeType;

/// Returns the hash of a certificate chain (DER, the end entity first): SHA-256 over the Certificate message in
/// TLS 1.2's format, so that neither the request context nor stapled data changes it (RFC 7924 §5). `None` if
/// `sha256` is another hash, or the chain is empty or longer than a message may be.
#[must_use]
pub fn chain_hash(
    sha256: &dyn Hash,
    chain: impl IntoIterator<Item: AsRef<[u8]>, IntoIter: Clone>,
) -> Option<[u8; 32]> {
    let chain = chain.into_iter();
    chain.clone().next()?;
    let list_len = chain.clone().map(|der| 3 + der.as_ref().len()).sum();
    let mut hash = Message::start(sha256, list_len)?;
    for der in chain {
        let der = der.as_ref();
        hash.add(&u24(der.len())?);
        hash.add(der);
    }
    hash.end()
}

/// Returns the hash of a raw public key (DER), which takes the place of the list of certificates (RFC 7250 §3).
/// `None` as for a chain, and for anything but a SEQUENCE: it could be confused with a list.
#[must_use]
pub fn raw_public_key_hash(sha256: &dyn Hash, key: &[u8]) -> Option<[u8; 32]> {
    key.first().filter(|tag| **tag == SEQUENCE)?;
    let mut hash = Message::start(sha256, key.len())?;
    hash.add(key);
    hash.end()
}

/// The tag at the start of every SubjectPublicKeyInfo. After its lengths, a list of certificates starts with it only
/// if the first certificate has 3 MiB.
const SEQUENCE: u8 = 0x30;

/// The hash of a Certificate message of TLS 1.2, header included.
struct Message(Box<dyn RunningHash>);

impl Message {
    fn start(sha256: &dyn Hash, contents: usize) -> Option<Self> {
        let mut message = Self(sha256.start());
        let ([a, b, c], [d, e, f]) = (u24(contents + 3)?, u24(contents)?);
        message.add(&[HandshakeType::CERTIFICATE.0, a, b, c, d, e, f]);
        Some(message)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn end(self) -> Option<[u8; 32]> {
        self.0.current().as_ref().try_into().ok()
    }
}

fn u24(len: usize) -> Option<[u8; 3]> {
    match u32::try_from(len).ok()?.to_be_bytes() {
        [0, len @ ..] => Some(len),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{chain_hash, raw_public_key_hash};
    use crate::crypto::Hash;
    use crate::testing::AES_128_GCM_SHA256;

    fn sha256() -> &'static dyn Hash {
        AES_128_GCM_SHA256.hash
    }

    #[test]
    fn the_hash_of_a_chain_covers_its_length_and_each_certificates() {
        let hash = |chain: &[&[u8]]| chain_hash(sha256(), chain);
        let message = [0x0b, 0, 0, 0x0b, 0, 0, 8, 0, 0, 2, 0xaa, 0xbb, 0, 0, 0];
        let expected = sha256().hash(&message);
        assert_eq!(hash(&[&[0xaa, 0xbb], &[]]).as_ref().map(|it| &it[..]), Some(expected.as_ref()));
        assert_ne!(hash(&[&[0xaa], &[0xbb]]), hash(&[&[0xaa, 0xbb], &[]]));
        assert_ne!(hash(&[&[0xaa, 0xbb]]), hash(&[&[0xaa, 0xbb], &[]]));
    }

    #[test]
    fn the_hash_of_a_raw_public_key_is_of_the_key_in_place_of_a_list() {
        let expected = sha256().hash(&[0x0b, 0, 0, 5, 0, 0, 2, 0x30, 0]);
        let hash = raw_public_key_hash(sha256(), &[0x30, 0]);
        assert_eq!(hash.as_ref().map(|it| &it[..]), Some(expected.as_ref()));
    }

    #[test]
    fn a_chain_or_key_too_long_for_a_message_has_no_hash() {
        let too_long = alloc::vec![0x30; 1 << 24];
        assert_eq!(chain_hash(sha256(), &[&too_long]), None);
        assert_eq!(raw_public_key_hash(sha256(), &too_long[3..]), None);
    }

    #[test]
    fn an_empty_chain_and_an_ambiguous_key_have_no_hash() {
        assert_eq!(chain_hash(sha256(), &[b""; 0]), None);
        for key in [&[][..], &[0, 0, 1, 7]] {
            assert_eq!(raw_public_key_hash(sha256(), key), None);
        }
    }
}
