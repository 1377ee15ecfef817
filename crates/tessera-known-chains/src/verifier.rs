//! The verifier that remembers accepted chains.

use alloc::vec::Vec;
use core::{fmt, slice};

use tessera::Role;
use tessera::auth::{
    AskedChain, AskedKey, ChainMemory, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected,
    PeerVerifier, PinnedChain, VerifierPolicy, VerifyPeer, chain_hash, joined,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, CertificateType, EntryExtensions, SignatureScheme};

use crate::chain_verifier::{ChainVerifier, Names};
use crate::key::{Context, Key, Purpose};
use crate::pins::Pin;
use crate::record::{KnownPeer, Record, VerifiedChain};
use crate::store::ChainStore;

/// A verifier that recognises the chains it accepted before. It accepts and refuses the same peers as the one it wraps,
/// and has the same [policy](PeerVerifier::policy), so that sessions survive a change from one to the other.
///
/// Whether a chain is accepted depends on the chain, the verifier, the role and the name in question, and the
/// time. An entry is found by a hash of all of these but the time: trust anchors, algorithms, the revocation
/// lists themselves. It stores the period in which all certificates of the path are valid. If a list has
/// ended and unknown status isn't accepted, the hash differs. So a chain is verified in full under another
/// name, role, trust store or revocation list, with another certificate for the same key, with an expired
/// intermediate, or without a clock; and a certificate that a new list revokes is refused, anywhere on the
/// path. The peer's proof, its signature, is checked each time. If the verifier doesn't check dates
/// ([`ChainVerifier::checks_dates`]), neither does the memory: a chain is known at all times, and without a clock.
///
/// Refused chains are never remembered, nor chains with unneeded or unordered certificates (a root may follow
/// them): otherwise one client could create unlimited entries. It can still create a few: any party can
/// change an ECDSA signature to its other form (s to n - s), and the certificate with that signature is a
/// different one, and as valid. Of n certificates with such signatures there are 2^n chains, and as many with
/// the root: 8 of a client with one intermediate. They only evict entries of the same authority
/// ([`StoreBounds`](crate::StoreBounds)). A chain for which there is no memory is accepted, and not remembered.
///
/// A chain is learned when it is first accepted, not when it returns, although that costs something for
/// chains that never return: their hash, about a hundredth of checking three certificates with P-256 keys. In
/// exchange, the second connection already skips the whole verification, and a certificate cache can name the
/// chain in the very next handshake.
///
/// A certificate codec may know a chain only by its hash: [`ChainMemory`] tracks which, and the question
/// about such a chain ([`VerifyPeer::known`]) is answered from the entry.
///
/// ```
/// use std::sync::Arc;
///
/// use tessera::ClientConfig;
/// use tessera::crypto::Provider;
/// use tessera_known_chains::{ChainStore, ChainVerifier, KnownChains, StoreBounds};
///
/// fn config(
///     provider: Provider,
///     verifier: impl ChainVerifier + 'static,
/// ) -> Result<ClientConfig, Box<dyn std::error::Error>> {
///     // One for all verifiers of the process.
///     let store = ChainStore::new(&provider, StoreBounds::default())?;
///     let verifier = KnownChains::new(verifier, &store);
///     Ok(ClientConfig::new(provider, Arc::new(verifier)))
/// }
/// ```
pub struct KnownChains<V> {
    inner: V,
    store: ChainStore,
    /// `None` if the end of a revocation list can't be read: no chain is remembered then.
    context: Option<Context>,
}

impl<V: ChainVerifier> KnownChains<V> {
    /// Makes a verifier that remembers in this store what `verifier` accepts.
    #[must_use]
    pub fn new(mut verifier: V, store: &ChainStore) -> Self {
        let context = Context::new(&mut verifier, store.sha256(), store.salt());
        Self { inner: verifier, store: store.clone(), context }
    }

    /// Judges everything about a peer but its names, and determines no identity: for a verifier around this one that
    /// checks the names itself and has its own identities. **Accepts any peer with a certificate of the anchors.** A chain
    /// accepted this way is not thereby accepted under a name. Returns when the first certificate of the path expires, in
    /// seconds since the Unix epoch; the end of time if dates don't count.
    ///
    /// # Errors
    /// Like [`verify`](PeerVerifier::verify), with the alert and the reason.
    pub fn verify_without_names(&self, question: &VerifyPeer) -> Result<u64, PeerRejected> {
        let accepted = self.judge(question, Some(Purpose::NoNames(question.peer)))?;
        Ok(accepted.identity.expires_at.unwrap_or(u64::MAX))
    }

    fn judge(
        &self,
        question: &VerifyPeer,
        purpose: Option<Purpose<'_>>,
    ) -> Result<PeerAcceptance, PeerRejected> {
        if let Some(chain) = &question.known {
            return self.judge_without_chain(question, chain, purpose);
        }
        let (chain, key) = self.key_of(question, purpose).unzip();
        let accepted = if let (Some(key), Some(unix)) = (&key, self.unix(question.unix))
            && let Some(peer) = self.store.get(key, unix)
        {
            self.answer(question, purpose, peer)
        } else {
            self.judge_whole(question, purpose, key)
        };
        // Saves another cache of the chain a second hash.
        accepted.map(|mut accepted| {
            accepted.chain_hash = chain;
            accepted
        })
    }

    /// Verifies the chain in full, and remembers it if accepted.
    fn judge_whole(
        &self,
        question: &VerifyPeer,
        purpose: Option<Purpose<'_>>,
        key: Option<Key>,
    ) -> Result<PeerAcceptance, PeerRejected> {
        let names = match purpose {
            Some(Purpose::NoNames(_)) => Names::Ignored,
            _ => Names::Checked,
        };
        let judged = self.inner.judge_chain(question, names, key.is_some())?;
        let not_after = *judged.validity.end();
        if let (Some(key), Some(end_entity)) = (key, judged.end_entity) {
            let is_asked = matches!(purpose, Some(Purpose::Server(_)));
            let record = Record::new(
                &key,
                &VerifiedChain {
                    not_before: *judged.validity.start(),
                    not_after,
                    certificates: question.chain.len(),
                    list_len: question.chain.iter().map(|der| 3 + der.len()).sum(),
                    public_key: &end_entity.public_key,
                    identity: if is_asked { &[] } else { &judged.identity },
                },
            );
            if let Some(record) = record {
                self.store.insert(record, &end_entity.issuer);
            }
        }
        Ok(self.accepted(judged.identity, not_after, judged.public_key))
    }

    /// Judges a peer that sent only the hash of its chain.
    fn judge_without_chain(
        &self,
        question: &VerifyPeer,
        chain: &[u8; 32],
        purpose: Option<Purpose<'_>>,
    ) -> Result<PeerAcceptance, PeerRejected> {
        let unix = self.unix(question.unix).ok_or_else(|| ours("the time is not known"))?;
        let peer = self.peer_at_any_time(question, chain, purpose).ok_or_else(|| {
            let reason = "the certificates that the peer names are no longer known: connect again, and have them sent";
            PeerRejected::new(AlertDescription::BAD_CERTIFICATE, reason)
        })?;
        if !peer.validity.contains(&unix) {
            let reason = "certificate: one of the known ones is not valid now";
            return Err(PeerRejected::new(AlertDescription::CERTIFICATE_EXPIRED, reason));
        }
        self.answer(question, purpose, peer)
    }

    /// Answers with the peer of an accepted chain, if the proof is valid.
    fn answer(
        &self,
        question: &VerifyPeer,
        purpose: Option<Purpose<'_>>,
        KnownPeer { validity, key_and_identity }: KnownPeer,
    ) -> Result<PeerAcceptance, PeerRejected> {
        let (public_key, identity) = key_and_identity.ok_or_else(no_memory)?;
        let kem_key = self.inner.judge_proof(question, &public_key)?;
        let blob = match purpose {
            Some(Purpose::Server(name)) => joined(&[name.as_bytes()]).map_err(|_| no_memory())?,
            _ => identity,
        };
        Ok(self.accepted(blob, *validity.end(), kem_key))
    }

    fn accepted(
        &self,
        blob: Vec<u8>,
        not_after: u64,
        public_key: Option<PeerPublicKey>,
    ) -> PeerAcceptance {
        let expires_at = self.inner.checks_dates().then_some(not_after);
        let mut accepted = PeerAcceptance::new(PeerIdentity { blob, expires_at });
        accepted.public_key = public_key;
        accepted
    }

    /// Returns the peer with a chain, valid now or not.
    fn peer_at_any_time(
        &self,
        question: &VerifyPeer,
        chain: &[u8; 32],
        purpose: Option<Purpose<'_>>,
    ) -> Option<KnownPeer> {
        let is_chain = question.certificate_type == CertificateType::X509;
        let key = self.key(chain, purpose.filter(|_| is_chain), question.unix)?;
        self.store.get_at_any_time(&key)
    }

    /// Returns the hash of a question's chain, and its key, if the chain may be remembered.
    fn key_of(
        &self,
        question: &VerifyPeer,
        purpose: Option<Purpose<'_>>,
    ) -> Option<([u8; 32], Key)> {
        if question.certificate_type != CertificateType::X509 || question.chain.is_empty() {
            return None;
        }
        let (context, purpose) = (self.context.as_ref()?, purpose?);
        let unix = self.unix(question.unix)?;
        let chain = chain_hash(self.store.sha256(), &question.chain)?;
        Some((chain, context.key(&chain, purpose, unix, self.store.sha256())?))
    }

    fn key(
        &self,
        chain: &[u8; 32],
        purpose: Option<Purpose<'_>>,
        unix: Option<u64>,
    ) -> Option<Key> {
        self.context.as_ref()?.key(chain, purpose?, self.unix(unix)?, self.store.sha256())
    }

    /// Returns the time that decides: any, always the same, if dates don't count.
    fn unix(&self, unix: Option<u64>) -> Option<u64> {
        if self.inner.checks_dates() { unix } else { Some(0) }
    }

    /// Returns the purpose for which the peer is judged; `None` for a server without a name to check.
    fn purpose<'q>(&self, peer: Role, server_name: Option<&'q str>) -> Option<Purpose<'q>> {
        match self.inner.checks_name(peer) {
            true => server_name.map(Purpose::Server),
            false => Some(Purpose::AllNames(peer)),
        }
    }
}

/// Rejects a peer for a lack at this side.
fn ours(reason: &str) -> PeerRejected {
    PeerRejected::new(AlertDescription::INTERNAL_ERROR, reason)
}

fn no_memory() -> PeerRejected {
    ours("no memory for a copy of what is known of the peer")
}

impl<V: ChainVerifier> PeerVerifier for KnownChains<V> {
    fn schemes(&self) -> &[SignatureScheme] {
        self.inner.schemes()
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        self.inner.chain_schemes()
    }

    fn authorities(&self) -> &[Vec<u8>] {
        self.inner.authorities()
    }

    fn certificate_types(&self) -> &[CertificateType] {
        self.inner.certificate_types()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        self.inner.entry_extensions()
    }

    fn policy(&self) -> VerifierPolicy {
        self.inner.policy()
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        let Some(chain) = asked.known else { return self.inner.kem_scheme(asked) };
        let purpose = self.purpose(asked.peer, asked.server_name);
        let key = self.key(chain, purpose, asked.unix)?;
        let (public_key, _) = self.store.foresee(&key)?.key_and_identity?;
        let (certificate_type, chain) =
            (CertificateType::RAW_PUBLIC_KEY, slice::from_ref(&public_key));
        self.inner.kem_scheme(&AskedKey { certificate_type, chain, known: None, ..*asked })
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let purpose = self.purpose(question.peer, question.server_name.as_deref());
        Reply::Now(self.judge(question, purpose))
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        let Some(chain) = &question.known else { return self.inner.is_proof_right(question) };
        let purpose = self.purpose(question.peer, question.server_name.as_deref());
        let peer = self.peer_at_any_time(question, chain, purpose);
        let answer = peer.map(|peer| self.answer(question, purpose, peer));
        // With a KEM, nothing is proved yet.
        matches!(answer, Some(Ok(accepted)) if accepted.public_key.is_none())
    }
}

impl<V: ChainVerifier> ChainMemory for KnownChains<V> {
    fn pin(&self, asked: &AskedChain<'_>) -> Option<PinnedChain> {
        let unix = self.unix(asked.unix)?;
        let purpose = self.purpose(asked.peer, asked.server_name);
        let key = self.key(&asked.hash, purpose, asked.unix)?;
        let look = |it: &Record| (it.certificates(), it.list_len(), it.not_after());
        let (certificates, list_len, not_after) = self.store.pin(&key, unix, look)?;
        let not_after = if self.inner.checks_dates() { not_after } else { u64::MAX };
        let pin = Pin::new(self.store.clone(), key);
        Some(PinnedChain::new(certificates, list_len, not_after, pin))
    }
}

impl<V: fmt::Debug> fmt::Debug for KnownChains<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownChains")
            .field("inner", &self.inner)
            .field("store", &self.store)
            .finish()
    }
}
