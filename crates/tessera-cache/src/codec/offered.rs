//! A peer's chain that this side offers to accept as a hash.

use alloc::vec::Vec;
use core::slice;

use tessera::Time;
use tessera::auth::{
    AskedChain, CertificateContents, CertificateNotDecoded, ChainMemory, DecodedCertificate,
    PinnedChain, Role, joined,
};
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::wire::Content;

/// An offered chain. It is held here until the handshake is over, whatever happens to caches.
pub(super) struct OfferedChain<P> {
    pub(super) id: Id,
    /// What is remembered of the peer.
    pub(super) peer: P,
    pub(super) form: Form,
    /// What the verifier holds, if there is only a hash.
    pub(super) pinned: Option<PinnedChain>,
}

/// The chains offered in a connection: seldom more than one, for which nothing is allocated.
pub(super) struct OfferedChains<P> {
    first: Option<OfferedChain<P>>,
    others: Vec<OfferedChain<P>>,
    /// The ids of all, the first included, if there are others.
    ids: Vec<Id>,
}

impl<P> OfferedChains<P> {
    /// Returns the ids, in order.
    pub(super) fn ids(&self) -> &[Id] {
        match &self.first {
            Some(first) if self.others.is_empty() => slice::from_ref(&first.id),
            _ => &self.ids,
        }
    }

    fn add(&mut self, chain: OfferedChain<P>) {
        let Some(first) = &self.first else {
            self.first = Some(chain);
            return;
        };
        if self.ids.try_reserve(2).is_err() || self.others.try_reserve(1).is_err() {
            return;
        }
        if self.ids.is_empty() {
            self.ids.push(first.id);
        }
        self.ids.push(chain.id);
        self.others.push(chain);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn first(&self) -> Option<&OfferedChain<P>> {
        self.first.as_ref()
    }

    /// Returns the chain with this id.
    pub(super) fn find(&self, id: Id) -> Option<&OfferedChain<P>> {
        self.first.iter().chain(&self.others).find(|it| it.id == id)
    }
}

impl<P> FromIterator<OfferedChain<P>> for OfferedChains<P> {
    /// Leaves out chains without memory for them.
    fn from_iter<I: IntoIterator<Item = OfferedChain<P>>>(chains: I) -> Self {
        let mut offered = Self { first: None, others: Vec::new(), ids: Vec::new() };
        chains.into_iter().for_each(|chain| offered.add(chain));
        offered
    }
}

/// Returns the purpose for which a verifier must know a chain; the hash is filled in later.
pub(super) fn asked_of(peer: Role, server_name: Option<&str>, now: Time) -> AskedChain<'_> {
    let unix = now.unix.map(|unix| unix.as_secs());
    AskedChain { hash: [0; ChainHash::LEN], peer, server_name, unix }
}

impl<P> OfferedChain<P> {
    /// Makes a chain that can be offered now. If there is only a hash, the verifier must know the chain for
    /// `asked`.
    pub(super) fn new(
        id: Id,
        peer: P,
        form: &Form,
        memory: Option<&dyn ChainMemory>,
        asked: AskedChain<'_>,
    ) -> Option<Self> {
        let pinned = match form {
            Form::Whole(_) => None,
            Form::Known(hash) => Some(memory?.pin(&AskedChain { hash: hash.0, ..asked })?),
        };
        Some(Self { id, peer, form: form.clone(), pinned })
    }

    /// Reads the content of a CompressedCertificate, and returns what it stands for. Bytes that are malformed
    /// in themselves are an error. A difference from the expected chain is not: the handshake continues with
    /// the expected one, without extensions, until the proof, and ends as if the proof were wrong: so the alert
    /// doesn't reveal which chain was expected, and an attacker can't make a cache forget it.
    pub(super) fn decode(
        &self,
        expected: ChainHash,
        encoded: &[u8],
        len: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        let content = Content::read(encoded).ok_or(CertificateNotDecoded::Malformed)?;
        let count = content.entries().count();
        let beside = content.extensions.len() - 2 * count;
        let (certificates, body_len) = match (&self.form, &self.pinned) {
            (Form::Whole(chain), _) => (chain.count(), chain.body_len(beside)),
            (Form::Known(_), Some(pinned)) => (pinned.certificates, pinned.body_len(beside)),
            (Form::Known(_), None) => return Err(CertificateNotDecoded::Malformed),
        };
        let fits = count == 0 || count == certificates;
        let is_sent = fits && len == body_len && content.chain == expected;
        let extensions = if is_sent { content.extensions } else { &[] };
        let mut decoded = match &self.form {
            Form::Whole(chain) => {
                let body = chain.body_with(extensions);
                let body = body.ok_or(CertificateNotDecoded::OutOfMemory(body_len))?;
                DecodedCertificate::new(CertificateContents::Body(body))
            }
            Form::Known(_) => {
                let copied = joined(&[extensions]);
                let mut decoded = DecodedCertificate::new(CertificateContents::Known(expected.0));
                decoded.entry_extensions =
                    copied.map_err(|_| CertificateNotDecoded::OutOfMemory(extensions.len()))?;
                decoded
            }
        };
        decoded.is_what_was_sent = is_sent;
        Ok(decoded)
    }
}
