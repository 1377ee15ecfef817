//! A certificate chain without the parts that change in every handshake: the request context, and the
//! extensions of entries.

use alloc::vec::Vec;

use tessera::auth::{PeerCertificate, certificate_entries, chain_hash, raw_public_key_hash};
use tessera::crypto::Hash;
use tessera::wire::CertificateType;

use crate::bytes::{Bytes, Shared, len24, put16, put24, room};
use crate::chain_hash::ChainHash;
use crate::der::expires_at;

/// The chain of a Certificate message, or its raw public key. Clones share its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) certificate_type: CertificateType,
    /// The end entity, DER; or the raw public key.
    pub(crate) leaf: Shared,
    /// The others, each with a three-byte length. Clients of one authority share the allocation.
    pub(crate) issuers: Shared,
}

impl Chain {
    /// Parses the chain of a Certificate's body; `None` if it is empty, or has no hash, or without memory for it.
    pub(crate) fn of_body(certificate_type: CertificateType, body: &[u8]) -> Option<Self> {
        let entries = certificate_entries(body)?;
        Self::of_certificates(certificate_type, entries.map(|entry| entry.certificate))
    }

    /// Builds the chain of these certificates, or of this raw public key.
    pub(crate) fn of_certificates(
        certificate_type: CertificateType,
        certificates: impl IntoIterator<Item: AsRef<[u8]>, IntoIter: Clone>,
    ) -> Option<Self> {
        let mut certificates = certificates.into_iter();
        let leaf = Shared::copied(certificates.next()?.as_ref())?;
        let mut issuers = room(certificates.clone().map(|it| 3 + it.as_ref().len()).sum())?;
        certificates.for_each(|certificate| put24(&mut issuers, certificate.as_ref()));
        Self::new(certificate_type, leaf, issuers.into())
    }

    /// Builds the chain of an accepted peer.
    pub(crate) fn of_peer(peer: &PeerCertificate) -> Option<Self> {
        Self::of_body(peer.certificate_type, peer.body()?)
    }

    /// Builds a chain from these parts; `None` if it has no hash.
    pub(crate) fn new(
        certificate_type: CertificateType,
        leaf: Shared,
        issuers: Shared,
    ) -> Option<Self> {
        // The maximum length in a message, including the lengths before leaf and list.
        if leaf.len() + issuers.len() + 6 >= 1 << 24 {
            return None;
        }
        let hashed = match certificate_type {
            CertificateType::X509 => !leaf.is_empty(),
            // A list of certificates never begins like a public key (below 3 MiB).
            CertificateType::RAW_PUBLIC_KEY => leaf.first() == Some(&0x30) && issuers.is_empty(),
            _ => false,
        };
        hashed.then_some(Self { certificate_type, leaf, issuers })
    }

    pub(crate) fn hash(&self, sha256: &dyn Hash) -> ChainHash {
        let hash = match self.certificate_type {
            CertificateType::RAW_PUBLIC_KEY => raw_public_key_hash(sha256, &self.leaf),
            _ => chain_hash(sha256, self.certificates()),
        };
        // Always present: `new` has checked form and length, and `sha256` is the right hash.
        ChainHash(hash.unwrap_or_default())
    }

    /// Returns the certificates in order; or the raw public key.
    fn certificates(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let mut issuers = Bytes(&self.issuers);
        core::iter::once(&self.leaf[..]).chain(core::iter::from_fn(move || issuers.vec24()))
    }

    /// Returns the length of the chain in bytes.
    pub(crate) fn len(&self) -> usize {
        self.leaf.len() + self.issuers.len()
    }

    /// Returns the length of the body of its Certificate, if the extensions of all entries have this total length, without
    /// each entry's two-byte length.
    pub(crate) fn body_len(&self, extensions: usize) -> usize {
        1 + 3 + 3 + self.len() + 2 * self.count() + extensions
    }

    /// Returns the number of its certificates.
    pub(crate) fn count(&self) -> usize {
        self.certificates().count()
    }

    /// Returns the body of its Certificate with these extensions of its entries, in order, each list with its two-byte
    /// length; nothing means entries without extensions. `None` without memory for it.
    pub(crate) fn body_with(&self, extensions: &[u8]) -> Option<Vec<u8>> {
        let mut extensions = Bytes(extensions);
        let lengths = if extensions.is_empty() { 0 } else { 2 * self.count() };
        let len = self.body_len(extensions.0.len().saturating_sub(lengths));
        let mut body = room(len)?;
        // No request context.
        body.push(0);
        body.extend_from_slice(&len24(len - 4));
        for certificate in self.certificates() {
            put24(&mut body, certificate);
            put16(&mut body, extensions.vec16().unwrap_or_default());
        }
        Some(body)
    }

    /// Returns when the first of the certificates expires, in seconds since the Unix epoch, as far as can be
    /// read.
    pub(crate) fn expires_at(&self) -> Option<u64> {
        self.certificates().filter_map(expires_at).min()
    }
}

impl ChainHash {
    /// Returns the hash of the chain in the body of a Certificate. `None` if it is empty, or a raw public key
    /// that is no DER sequence.
    pub fn of_body(sha256: &dyn Hash, typ: CertificateType, body: &[u8]) -> Option<Self> {
        Some(Chain::of_body(typ, body)?.hash(sha256))
    }
}
