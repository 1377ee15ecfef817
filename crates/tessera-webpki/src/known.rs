//! What the memory of chains needs from the verifier.

use alloc::vec::Vec;

use tessera::Role;
use tessera::auth::{PeerPublicKey, PeerRejected, VerifyPeer};
use tessera_known_chains::{ChainVerifier, EndEntity, JudgedChain, Names, RevocationLists};

use crate::accepted::JudgedPeer;
use crate::peer_proof::PeerProof;
use crate::verifier::WebPkiVerifier;

/// A [`WebPkiVerifier`] that recognises the chains it accepted before
/// ([`tessera_known_chains::KnownChains`]).
///
/// ```
/// use std::sync::Arc;
///
/// use tessera::ClientConfig;
/// use tessera_webpki::{ChainStore, KnownChains, StoreBounds, WebPkiVerifier};
///
/// # #[cfg(not(feature = "aws-lc"))]
/// # fn main() {}
/// # #[cfg(feature = "aws-lc")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let key = rcgen::KeyPair::generate()?;
/// # let mut params = rcgen::CertificateParams::default();
/// # params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
/// # let root = params.self_signed(&key)?.der().to_vec();
/// let provider = tessera_aws_lc::provider();
/// // One for all verifiers of the process.
/// let store = ChainStore::new(&provider, StoreBounds::default())?;
/// let verifier = KnownChains::new(WebPkiVerifier::new(&[root])?, &store);
/// let config = ClientConfig::new(provider, Arc::new(verifier));
/// # drop(config);
/// println!("{:?}", store.counts());
/// # Ok(())
/// # }
/// ```
pub type KnownChains = tessera_known_chains::KnownChains<WebPkiVerifier>;

impl ChainVerifier for WebPkiVerifier {
    fn checks_name(&self, peer: Role) -> bool {
        self.looks_for_a_name(peer)
    }

    fn take_lists(&mut self) -> Option<RevocationLists> {
        match &mut self.revocation {
            Some(revocation) => {
                let (lists, ends) = revocation.take_sources()?;
                Some(RevocationLists { lists, ends })
            }
            None => Some(RevocationLists::default()),
        }
    }

    fn judge_chain(
        &self,
        question: &VerifyPeer,
        names: Names,
        remembers: bool,
    ) -> Result<JudgedChain, PeerRejected> {
        let judged = self.judge_chain(question, |chain| {
            let identity = match names {
                Names::Ignored => Vec::new(),
                Names::Checked => self.identity(chain.end_entity, question)?,
            };
            let fits = remembers && self.needs_all_of(chain, &question.chain);
            let end_entity = fits.then(|| EndEntity {
                public_key: chain.end_entity.subject_public_key_info().to_vec(),
                issuer: chain.end_entity.issuer().to_vec(),
            });
            Ok((identity, end_entity))
        })?;
        let JudgedPeer { validity, public_key, found: (identity, end_entity) } = judged;
        let validity = validity.not_before..=validity.not_after;
        Ok(JudgedChain { identity, validity, public_key, end_entity })
    }

    fn judge_proof(
        &self,
        question: &VerifyPeer,
        public_key: &[u8],
    ) -> Result<Option<PeerPublicKey>, PeerRejected> {
        PeerProof::of(question, &self.algorithms, &self.kems)?.judge_by_key(public_key)
    }
}
