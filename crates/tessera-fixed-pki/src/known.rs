//! What the memory of chains needs from the verifier.

use tessera::Role;
use tessera::auth::{PeerPublicKey, PeerRejected, VerifyPeer, joined};
use tessera_known_chains::{ChainVerifier, EndEntity, JudgedChain, Names};

use crate::verifier::FixedPkiVerifier;

/// A [`FixedPkiVerifier`] that recognises the chains it accepted before: without a clock, too, if it checks no dates.
pub type KnownChains = tessera_known_chains::KnownChains<FixedPkiVerifier>;

impl ChainVerifier for FixedPkiVerifier {
    fn checks_name(&self, peer: Role) -> bool {
        peer == Role::Server
    }

    fn checks_dates(&self) -> bool {
        self.checks_dates
    }

    fn judge_chain(
        &self,
        question: &VerifyPeer,
        names: Names,
        remembers: bool,
    ) -> Result<JudgedChain, PeerRejected> {
        let (path, identity, public_key) = self.judge(question, names == Names::Checked)?;
        let is_remembered = remembers && path.is_all_of(&question.chain);
        let end_entity = is_remembered.then(|| {
            let public_key = joined(&[path.end_entity.public_key]).ok()?;
            Some(EndEntity { public_key, issuer: joined(&[path.end_entity.issuer]).ok()? })
        });
        let validity = match self.checks_dates {
            true => path.validity.not_before..=path.validity.not_after,
            false => 0..=u64::MAX,
        };
        let end_entity = end_entity.flatten();
        Ok(JudgedChain { identity, validity, public_key, end_entity })
    }

    fn judge_proof(
        &self,
        question: &VerifyPeer,
        public_key: &[u8],
    ) -> Result<Option<PeerPublicKey>, PeerRejected> {
        self.check_proof(question, public_key).map_err(PeerRejected::from)
    }
}
