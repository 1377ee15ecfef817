//! A certificate chain without what changes at every handshake: no request context, no extensions of
//! entries.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tessera::auth::PeerCertificate;
use tessera::crypto::Hash;
use tessera::wire::CertificateType;

use crate::bytes::{Bytes, len24, put16, put24};
use crate::chain_hash::{ChainHash, hash_of_list, hash_of_raw_key};
use crate::der::expires_at;

/// The chain of a Certificate message, or its raw public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) certificate_type: CertificateType,
    /// The end entity, DER; or the raw public key.
    pub(crate) leaf: Vec<u8>,
    /// The others, each with a length of three bytes. Those of one authority's clients are one.
    pub(crate) issuers: Arc<[u8]>,
}

impl Chain {
    /// The chain of a Certificate's body; `None` if it is empty, or nothing that has a hash.
    pub(crate) fn of_body(certificate_type: CertificateType, body: &[u8]) -> Option<Self> {
        let mut entries = entries(body)?;
        let (leaf, _) = entries.next()??;
        let mut issuers = Vec::new();
        for entry in entries {
            put24(&mut issuers, entry?.0);
        }
        Self::new(certificate_type, leaf.to_vec(), issuers.into())
    }

    /// The chain of these certificates, or of this raw public key.
    pub(crate) fn of_certificates(typ: CertificateType, certificates: &[Vec<u8>]) -> Option<Self> {
        let (leaf, others) = certificates.split_first()?;
        let mut issuers = Vec::new();
        others.iter().for_each(|certificate| put24(&mut issuers, certificate));
        Self::new(typ, leaf.clone(), issuers.into())
    }

    /// The chain of a peer that was accepted.
    pub(crate) fn of_peer(peer: &PeerCertificate) -> Option<Self> {
        Self::of_body(peer.certificate_type, peer.body()?)
    }

    /// A chain of these parts; `None` if it has no hash.
    pub(crate) fn new(
        certificate_type: CertificateType,
        leaf: Vec<u8>,
        issuers: Arc<[u8]>,
    ) -> Option<Self> {
        let hashed = match certificate_type {
            CertificateType::X509 => !leaf.is_empty(),
            // A list of certificates never begins like a public key (below 3 MiB).
            CertificateType::RAW_PUBLIC_KEY => leaf.first() == Some(&0x30) && issuers.is_empty(),
            _ => false,
        };
        hashed.then_some(Self { certificate_type, leaf, issuers })
    }

    pub(crate) fn hash(&self, sha256: &dyn Hash) -> ChainHash {
        match self.certificate_type {
            CertificateType::RAW_PUBLIC_KEY => hash_of_raw_key(sha256, &self.leaf),
            _ => hash_of_list(sha256, &[&len24(self.leaf.len()), &self.leaf, &self.issuers]),
        }
    }

    /// How long the chain is, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.leaf.len() + self.issuers.len()
    }

    /// The body of a Certificate with this chain, and nothing beside it.
    pub(crate) fn body(&self) -> Vec<u8> {
        self.body_with(&[]).unwrap_or_default()
    }

    /// Writes the body of a Certificate with these extensions of its entries, in their order; an empty
    /// list stands for entries without. `None` if that doesn't fill `body` exactly.
    pub(crate) fn fill_body(&self, extensions: &[&[u8]], body: &mut [u8]) -> Option<()> {
        let written = self.body_with(extensions).filter(|it| it.len() == body.len())?;
        body.copy_from_slice(&written);
        Some(())
    }

    fn body_with(&self, extensions: &[&[u8]]) -> Option<Vec<u8>> {
        let mut left = extensions.iter().copied();
        let mut extension = || match left.next() {
            None if !extensions.is_empty() => None,
            next => Some(next.unwrap_or_default()),
        };
        let mut list = Vec::new();
        put24(&mut list, &self.leaf);
        put16(&mut list, extension()?);
        let mut issuers = Bytes(&self.issuers);
        while !issuers.is_empty() {
            put24(&mut list, issuers.vec24()?);
            put16(&mut list, extension()?);
        }
        let mut body = Vec::with_capacity(4 + list.len());
        // No request context.
        body.push(0);
        put24(&mut body, &list);
        left.next().is_none().then_some(body)
    }

    /// When the first of the certificates expires, in seconds since the Unix epoch, as far as they say.
    pub(crate) fn expires_at(&self) -> Option<u64> {
        let mut issuers = Bytes(&self.issuers);
        let others = core::iter::from_fn(|| issuers.vec24());
        core::iter::once(&self.leaf[..]).chain(others).filter_map(expires_at).min()
    }
}

impl ChainHash {
    /// The hash of the chain in the body of a Certificate. `None`: it has none, because it is empty, or
    /// a raw public key that is no DER sequence.
    pub fn of_body(sha256: &dyn Hash, typ: CertificateType, body: &[u8]) -> Option<Self> {
        Some(Chain::of_body(typ, body)?.hash(sha256))
    }
}

/// An entry of a Certificate: the certificate and its extensions.
pub(crate) type Entry<'a> = (&'a [u8], &'a [u8]);

/// The entries of a Certificate's body; each is `None` where the body ends too early. `None` at all if
/// the body has a request context, as none of a handshake has, or something after its list.
pub(crate) fn entries(body: &[u8]) -> Option<impl Iterator<Item = Option<Entry<'_>>>> {
    let mut reader = Bytes(body);
    let context = reader.vec8()?;
    let mut list = Bytes(reader.vec24()?);
    if !context.is_empty() || !reader.is_empty() {
        return None;
    }
    Some(core::iter::from_fn(move || {
        if list.is_empty() {
            return None;
        }
        let entry = list.vec24().filter(|it| !it.is_empty()).zip(list.vec16());
        if entry.is_none() {
            list = Bytes(&[]);
        }
        Some(entry)
    }))
}
