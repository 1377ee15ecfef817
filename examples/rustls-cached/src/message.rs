//! The replacement of a certificate message: the hash of its chain, and its parts that belong to this handshake.

use crate::chain::{self, Chain, Hash};

/// A Certificate message whose chain the peer has.
#[derive(Debug, PartialEq, Eq)]
pub struct AbbreviatedCertificate {
    /// The hash of the chain.
    pub hash: Hash,
    /// The content of a CompressedCertificate message in its place: the hash; then, if an entry has extensions, those
    /// of every entry, such as an OCSP response.
    pub content: Vec<u8>,
}

/// Abbreviates the body of a Certificate message (RFC 8446 §4.4.2). One with a request context can't be abbreviated:
/// the receiver only knows the chain.
pub fn abbreviate(body: &[u8]) -> Option<AbbreviatedCertificate> {
    let mut body = Reader(body);
    let context = body.vector(1)?;
    let mut list = Reader(body.vector(3)?);
    if !context.is_empty() || !body.is_empty() {
        return None;
    }
    let (mut certificates, mut extensions) = (Vec::new(), Vec::new());
    while !list.is_empty() {
        certificates.push(list.vector(3)?);
        extensions.push(list.vector(2)?);
    }
    let hash = chain::hash(certificates.into_iter())?;
    let mut content = hash.to_vec();
    if extensions.iter().any(|extensions| !extensions.is_empty()) {
        for extensions in extensions {
            content.extend(u16::try_from(extensions.len()).ok()?.to_be_bytes());
            content.extend(extensions);
        }
    }
    Some(AbbreviatedCertificate { hash, content })
}

/// Returns the hash that a content begins with.
pub(crate) fn hash(content: &[u8]) -> Option<Hash> {
    content.first_chunk().copied()
}

/// Writes the body of the Certificate message that this content of `chain` replaces. It must fill `body`, whose length
/// was announced.
pub fn restore(content: &[u8], chain: &Chain, body: &mut [u8]) -> Option<()> {
    let mut content = Reader(content);
    if content.take(chain.hash().len())? != chain.hash() {
        return None;
    }
    let has_extensions = !content.is_empty();
    let mut found_extension = false;
    let mut list = Vec::new();
    for certificate in chain.certificates() {
        let extensions = if has_extensions { content.vector(2)? } else { &[] };
        if !is_extensions(extensions) {
            return None;
        }
        found_extension |= !extensions.is_empty();
        list.extend(&u32::try_from(certificate.len()).ok()?.to_be_bytes()[1..]);
        list.extend(certificate);
        list.extend(u16::try_from(extensions.len()).ok()?.to_be_bytes());
        list.extend(extensions);
    }
    // An empty context, then the list after its length of three bytes: together this is like a length of four bytes,
    // whose first one is 0.
    let head @ [0, ..] = u32::try_from(list.len()).ok()?.to_be_bytes() else { return None };
    let restored = [&head[..], &list].concat();
    // Staples without any extension must not be in a content.
    if !content.is_empty() || has_extensions != found_extension || restored.len() != body.len() {
        return None;
    }
    body.copy_from_slice(&restored);
    Some(())
}

/// Whether this is a sequence of extensions, each with its type.
fn is_extensions(bytes: &[u8]) -> bool {
    let mut extensions = Reader(bytes);
    while !extensions.is_empty() {
        if extensions.take(2).and_then(|_| extensions.vector(2)).is_none() {
            return false;
        }
    }
    true
}

/// The unread bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a vector after its length, which has this many bytes.
    fn vector(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let len = self.take(bytes)?.iter().fold(0, |len, byte| len << 8 | usize::from(*byte));
        self.take(len)
    }
}
