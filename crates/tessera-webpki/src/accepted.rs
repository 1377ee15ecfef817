//! What was accepted of a peer.

use pki_types::CertificateDer;
use tessera::auth::PeerPublicKey;
use webpki::{EndEntityCert, VerifiedPath};

use crate::expiry::Validity;

/// A peer whose chain and proof were accepted.
pub(crate) struct JudgedPeer<N> {
    /// When the path is valid.
    pub(crate) validity: Validity,
    /// The key of a KEM, to which the engine encapsulates.
    pub(crate) public_key: Option<PeerPublicKey>,
    /// What was extracted from the chain.
    pub(crate) found: N,
}

/// An accepted chain, apart from names and proof.
pub(crate) struct AcceptedChain<'a> {
    pub(crate) end_entity: &'a EndEntityCert<'a>,
    /// `None` if the end entity is an anchor itself.
    pub(crate) path: Option<&'a VerifiedPath<'a>>,
}

impl AcceptedChain<'_> {
    /// Returns when all certificates of the path are valid; `None` if one of them isn't readable. The anchor
    /// doesn't count: it is a name and a key.
    pub(crate) fn validity(&self) -> Option<Validity> {
        let first = Validity::of(self.end_entity)?;
        self.intermediates().try_fold(first, |all, der| all.and(&der))
    }

    pub(crate) fn intermediates(&self) -> impl Iterator<Item = CertificateDer<'_>> {
        let path = self.path.into_iter();
        path.flat_map(|path| path.intermediate_certificates().map(|certificate| certificate.der()))
    }
}
