//! A chain as one value.

use tessera::crypto::Hash;

/// The hash of a certificate chain (DER, the end entity first): SHA-256 over the Certificate message as TLS 1.2
/// has it, so that neither the request context nor what is stapled changes it (RFC 7924 §5). `None` if `sha256`
/// is another hash, or the chain is longer than a message may be.
#[must_use]
pub fn chain_hash<T: AsRef<[u8]>>(sha256: &dyn Hash, chain: &[T]) -> Option<[u8; 32]> {
    const CERTIFICATE: u8 = 11;
    let list_len: usize = chain.iter().map(|der| 3 + der.as_ref().len()).sum();
    let (message, list) = (u24(list_len + 3)?, u24(list_len)?);
    let mut hash = sha256.start();
    hash.update(&[CERTIFICATE]);
    hash.update(&message);
    hash.update(&list);
    for der in chain.iter().map(AsRef::as_ref) {
        hash.update(&u24(der.len())?);
        hash.update(der);
    }
    hash.current().as_ref().try_into().ok()
}

fn u24(len: usize) -> Option<[u8; 3]> {
    match u32::try_from(len).ok()?.to_be_bytes() {
        [0, len @ ..] => Some(len),
        _ => None,
    }
}
