//! A peer's chain that this side offers to take as a hash.

use tessera::Time;
use tessera::auth::{AskedChain, CertificateNotDecoded, ChainMemory, Decoded, PinnedChain, Role};
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::wire::Content;

/// A chain that is offered. It is held here until the handshake is over, whatever caches do meanwhile.
pub(super) struct Offered<P> {
    pub(super) id: Id,
    /// What is remembered of the peer.
    pub(super) peer: P,
    pub(super) form: Form,
    /// What the verifier holds, where there is only a hash.
    pub(super) pinned: Option<PinnedChain>,
}

/// For what a verifier has to know a chain; the hash is still to be filled in.
pub(super) fn asked_of(peer: Role, server_name: Option<&str>, now: Time) -> AskedChain<'_> {
    let unix = now.unix.map(|unix| unix.as_secs());
    AskedChain { hash: [0; ChainHash::LEN], peer, server_name, unix }
}

/// What came in place of a chain.
pub(super) struct Received {
    /// The chain that was expected.
    pub(super) expected: ChainHash,
    /// Whether it is the one that the peer named. If it isn't, the handshake goes on with the expected one
    /// until the proof, and ends as if the proof were wrong: so nobody learns from the alert which chain
    /// was expected, and nobody makes a cache forget it.
    pub(super) matches: bool,
}

impl<P> Offered<P> {
    /// A chain that can be offered now. Where there is only a hash, the verifier has to know the chain for
    /// what is `asked`.
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

    /// Reads the content of a CompressedCertificate, and gives what it stands for. What the bytes alone show
    /// to be malformed is an error. What differs from the chain that is expected is not: the handshake goes on
    /// with the expected one, without extensions, until the proof.
    pub(super) fn decode(
        &self,
        expected: ChainHash,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<(Received, Decoded), CertificateNotDecoded> {
        let content = Content::read(encoded).ok_or(CertificateNotDecoded)?;
        let fits = match &self.form {
            Form::Whole(chain) => chain.fill_body(&content.extensions, body).is_some(),
            Form::Known(_) => {
                let pinned = self.pinned.as_ref().ok_or(CertificateNotDecoded)?;
                let count = content.extensions.len();
                let beside = content.extensions.iter().map(|it| it.len()).sum();
                (count == 0 || count == pinned.certificates)
                    && body.len() == pinned.body_len(beside)
            }
        };
        let matches = fits && content.chain == expected;
        let decoded = match &self.form {
            Form::Whole(_) if matches => Decoded::Body(body.len()),
            Form::Whole(chain) => Decoded::Expected(chain.body()),
            Form::Known(_) => {
                let beside = encoded.get(ChainHash::LEN..).filter(|_| matches);
                let entry_extensions = beside.unwrap_or_default().to_vec();
                Decoded::Known { hash: expected.0, entry_extensions }
            }
        };
        Ok((Received { expected, matches }, decoded))
    }
}
