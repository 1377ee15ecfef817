//! A chain, its hash and its id.

use aws_lc_rs::digest::{Context, SHA256};

/// SHA-256 of a chain.
pub type Hash = [u8; 32];

/// A certificate chain, as sent by a peer.
#[derive(Debug, PartialEq, Eq)]
pub struct Chain {
    certificates: Vec<Vec<u8>>,
    hash: Hash,
}

impl Chain {
    /// Returns the chain of these certificates, DER, the end entity first; `None` for an empty chain.
    pub fn new<'a>(certificates: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let certificates: Vec<_> = certificates.into_iter().map(<[u8]>::to_vec).collect();
        let hash = hash(certificates.iter().map(Vec::as_slice))?;
        Some(Self { certificates, hash })
    }

    /// Its certificates, DER.
    pub fn certificates(&self) -> impl Iterator<Item = &[u8]> {
        self.certificates.iter().map(Vec::as_slice)
    }

    /// Returns the end entity's certificate.
    pub(crate) fn end_entity(&self) -> Option<&[u8]> {
        self.certificates().next()
    }

    /// Its hash.
    pub fn hash(&self) -> &Hash {
        &self.hash
    }

    /// Returns its public id: an algorithm for compressing certificates, among those for private use.
    pub fn id(&self) -> u16 {
        id(&self.hash)
    }
}

/// Returns the hash of a chain: that of its TLS 1.2 Certificate message, as in RFC 7924 §5. So it excludes the parts of
/// a TLS 1.3 message that belong to one handshake: the request's context, and the extensions of the entries.
pub(crate) fn hash<'a>(certificates: impl Iterator<Item = &'a [u8]> + Clone) -> Option<Hash> {
    const CERTIFICATE: u8 = 11;
    let list_len: usize = certificates.clone().map(|certificate| 3 + certificate.len()).sum();
    if list_len == 0 {
        return None;
    }
    let mut context = Context::new(&SHA256);
    context.update(&[CERTIFICATE]);
    context.update(&length(3 + list_len)?);
    context.update(&length(list_len)?);
    for certificate in certificates {
        context.update(&length(certificate.len())?);
        context.update(certificate);
    }
    context.finish().as_ref().try_into().ok()
}

/// Returns the public id of the chain with this hash.
pub(crate) fn id(hash: &Hash) -> u16 {
    let [high, low, ..] = *hash;
    FIRST_ID | u16::from_be_bytes([high, low]) & LAST_PLACE
}

/// Returns the place of an id among all ids.
pub(crate) fn place(id: u16) -> usize {
    usize::from(id & LAST_PLACE)
}

/// How many ids there are.
pub(crate) const IDS: usize = LAST_PLACE as usize + 1;

pub(crate) const FIRST_ID: u16 = 0xc000;
const LAST_PLACE: u16 = 0x3fff;

/// Returns a length of three bytes.
fn length(len: usize) -> Option<[u8; 3]> {
    let [0, bytes @ ..] = u32::try_from(len).ok()?.to_be_bytes() else { return None };
    Some(bytes)
}
