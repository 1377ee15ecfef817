//! A certificate chain without the parts that change in every handshake: the request context, and the
//! extensions of entries.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tessera::auth::{PeerCertificate, certificate_entries, chain_hash, raw_public_key_hash};
use tessera::crypto::Hash;
use tessera::wire::CertificateType;

use crate::bytes::{Bytes, put16, put24, shared};
use crate::chain_hash::ChainHash;
use crate::der::expires_at;

/// The chain of a Certificate message, or its raw public key. Clones share its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) certificate_type: CertificateType,
    /// The end entity, DER; or the raw public key.
    pub(crate) leaf: Arc<[u8]>,
    /// The others, each with a three-byte length. Clients of one authority share the allocation.
    pub(crate) issuers: Arc<[u8]>,
}

impl Chain {
    /// Parses the chain of a Certificate's body; `None` if it is empty, or has no hash.
    pub(crate) fn of_body(certificate_type: CertificateType, body: &[u8]) -> Option<Self> {
        let entries = certificate_entries(body)?;
        Self::of_certificates(certificate_type, entries.map(|entry| entry.certificate))
    }

    /// Builds the chain of these certificates, or of this raw public key.
    pub(crate) fn of_certificates(
        certificate_type: CertificateType,
        certificates: impl IntoIterator<Item: AsRef<[u8]>>,
    ) -> Option<Self> {
        let mut certificates = certificates.into_iter();
        let leaf = certificates.next()?;
        let mut issuers = Vec::new();
        certificates.for_each(|certificate| put24(&mut issuers, certificate.as_ref()));
        Self::new(certificate_type, leaf.as_ref().into(), shared(&issuers))
    }

    /// Builds the chain of an accepted peer.
    pub(crate) fn of_peer(peer: &PeerCertificate) -> Option<Self> {
        Self::of_body(peer.certificate_type, peer.body()?)
    }

    /// Builds a chain from these parts; `None` if it has no hash.
    pub(crate) fn new(
        certificate_type: CertificateType,
        leaf: Arc<[u8]>,
        issuers: Arc<[u8]>,
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

    /// Returns the body of a Certificate with only this chain.
    pub(crate) fn body(&self) -> Vec<u8> {
        self.body_with(&[]).unwrap_or_default()
    }

    /// Returns the body of a Certificate with these extensions of its entries, in order; an empty list means
    /// entries without extensions. `None` if there are more or fewer.
    pub(crate) fn body_with(&self, extensions: &[&[u8]]) -> Option<Vec<u8>> {
        let mut left = extensions.iter().copied();
        let mut extension = || match left.next() {
            None if !extensions.is_empty() => None,
            next => Some(next.unwrap_or_default()),
        };
        let extensions_len = extensions.iter().map(|it| it.len()).sum::<usize>();
        // The lengths of a certificate and of its extensions.
        let lengths = (3 + 2) * self.certificates().count();
        let mut list = Vec::with_capacity(self.len() + lengths + extensions_len);
        for certificate in self.certificates() {
            put24(&mut list, certificate);
            put16(&mut list, extension()?);
        }
        let mut body = Vec::with_capacity(4 + list.len());
        // No request context.
        body.push(0);
        put24(&mut body, &list);
        left.next().is_none().then_some(body)
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
