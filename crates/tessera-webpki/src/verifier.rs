//! The verifier of certificate chains.

use alloc::vec::Vec;
use core::time::Duration;

use pki_types::{CertificateDer, ServerName, UnixTime};
use tessera::Role;
use tessera::auth::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, SignatureScheme};
#[cfg(feature = "known-chains")]
use webpki::anchor_from_trusted_cert;
use webpki::{EndEntityCert, KeyUsage};

use crate::accepted::{AcceptedChain, JudgedPeer};
use crate::alerts::{self, reject};
use crate::algorithms::Algorithms;
use crate::anchors::{Anchors, check_own};
use crate::error::ConfigError;
use crate::kems::{AcceptedKems, kem_of, kem_of_certificate};
use crate::key_usage::KeyUse;
use crate::names::sequence;
use crate::peer_proof::PeerProof;
use crate::revocation::{Revocation, UnknownStatus};
use crate::{identity, key_usage};

/// Verifies peers by their certificate chains, servers and clients alike.
///
/// Without a clock it accepts no peer, since it can't judge validity. It checks revocation only with
/// [`with_crls`](Self::with_crls).
///
/// # Identities
///
/// A server's [`PeerIdentity::blob`] is the server name that it was verified for, as requested. A client's
/// stays the same when its certificate is renewed under the same names:
///
/// - if its certificate has DNS names or URIs among its subject alternative names: all of them as `dns:NAME`
///   (in lower case) and `uri:URI`, sorted, without duplicates, separated by one space;
/// - otherwise `subject:` and the DER of the subject, without the outermost tag and length.
///
/// A client with none of these, or whose identity would exceed [`PeerIdentity::MAX_LEN`], is refused. The
/// identity doesn't distinguish trust anchors. For another identity, wrap the verifier and replace the blob.
///
/// [`PeerIdentity::expires_at`] is the earliest notAfter on the verified path, the trust anchor excluded. If
/// the peer's own certificate is an anchor, there is no path, and it is that certificate's notAfter.
pub struct WebPkiVerifier {
    anchors: Anchors,
    pub(crate) algorithms: Algorithms,
    pub(crate) kems: AcceptedKems,
    schemes: Vec<SignatureScheme>,
    chain_schemes: Vec<SignatureScheme>,
    authorities: Vec<Vec<u8>>,
    pub(crate) revocation: Option<Revocation>,
    leaves_server_names: bool,
}

impl WebPkiVerifier {
    /// Makes a verifier that trusts these root certificates (DER) and uses AWS-LC's algorithms. A root that
    /// is not an authority's only vouches for itself.
    #[cfg(feature = "aws-lc")]
    pub fn new<T: AsRef<[u8]>>(roots: &[T]) -> Result<Self, ConfigError> {
        Self::with_algorithms(roots, Algorithms::AWS_LC)
    }

    /// Makes a verifier that trusts these root certificates (DER) and uses the caller's algorithms.
    pub fn with_algorithms<T: AsRef<[u8]>>(
        roots: &[T],
        algorithms: Algorithms,
    ) -> Result<Self, ConfigError> {
        let anchors = Anchors::new(roots)?;
        let mut schemes = algorithms.handshake_schemes()?;
        schemes.extend_from_slice(algorithms.chain_schemes);
        let chain_schemes = algorithms.chain_schemes();
        Ok(Self {
            anchors,
            algorithms,
            kems: AcceptedKems::default(),
            schemes,
            chain_schemes,
            authorities: Vec::new(),
            revocation: None,
            leaves_server_names: false,
        })
    }

    /// Accepts peers with keys of these KEMs as well, which decapsulate instead of signing (docs/kem-auth.md): ML-KEM-512,
    /// ML-KEM-768, ML-KEM-1024 (RFC 9935) and X25519 (RFC 8410). Their certificates are signed as all others.
    ///
    /// They are offered after all signatures, in this order: a peer that has both, and follows the order of the list, signs,
    /// since its proof then comes a round trip earlier. A server of this project follows that of its own credentials.
    ///
    /// # Errors
    /// Returns an error for an empty list, and for other schemes.
    pub fn accepting_kems(mut self, kems: &[SignatureScheme]) -> Result<Self, ConfigError> {
        let added = self.kems.add(kems)?;
        self.schemes.extend(added);
        Ok(self)
    }

    /// Accepts peers with keys of these KEMs alone, and none that signs its handshakes: the algorithms only check
    /// certificates. Otherwise like [`accepting_kems`](Self::accepting_kems).
    ///
    /// # Errors
    /// Returns an error for an empty list, and for other schemes.
    pub fn accepting_kems_alone(mut self, kems: &[SignatureScheme]) -> Result<Self, ConfigError> {
        if !self.algorithms.handshake.is_empty() {
            self.chain_schemes = self.algorithms.all_chain_schemes();
            self.algorithms.handshake = &[];
        }
        (self.kems, self.schemes) = (AcceptedKems::default(), Vec::new());
        self.accepting_kems(kems)
    }

    /// Sends the names of the trust anchors to peers, which may have several certificates to choose from
    /// (certificate_authorities). Servers send them when they request client certificates; a client spends
    /// the bytes in every ClientHello. With many roots the engine refuses the list.
    #[must_use]
    pub fn naming_authorities(mut self) -> Self {
        let subjects = self.anchors.subjects().iter();
        self.authorities =
            subjects.filter(|name| !name.is_empty()).map(|name| sequence(name)).collect();
        self
    }

    /// Leaves the check of a server's name to a verifier around this one: servers are judged without a name,
    /// and get identities like clients, with all of their names. For owners that identify servers by their
    /// URIs. **Any peer with a certificate of the anchors can impersonate every server, unless the verifier
    /// around this one checks the identity.**
    #[must_use]
    pub fn leaving_server_names_to_a_wrapper(mut self) -> Self {
        self.leaves_server_names = true;
        self
    }

    /// Checks the certificates of every path against these revocation lists (DER). No lists with
    /// [`UnknownStatus::Reject`] would refuse every peer and is an error.
    ///
    /// A list that revokes another certificate than before changes the verifier's
    /// [policy](PeerVerifier::policy), and ends the sessions of all peers that the verifier accepted, since a
    /// session doesn't record its certificates. A later list that revokes the same ends none.
    ///
    /// A list in the name of a root that no root of that name signed is an error. Lists of intermediates are
    /// checked when they are used.
    ///
    /// If a peer's own certificate is a trust anchor, there is no path and no list is consulted. To revoke
    /// it, remove it from the anchors.
    pub fn with_crls<T: AsRef<[u8]>>(
        mut self,
        crls: &[T],
        unknown: UnknownStatus,
    ) -> Result<Self, ConfigError> {
        if crls.is_empty() && unknown == UnknownStatus::Reject {
            return Err(ConfigError::NoCrls);
        }
        let (anchors, algorithms) = (&self.anchors, self.algorithms.chain);
        let signed = |issuer: &[u8], der: &[u8]| anchors.may_have_signed(issuer, der, algorithms);
        self.revocation = Some(Revocation::new(crls, unknown, signed)?);
        Ok(self)
    }

    /// Judges everything about a peer but its names, and determines no identity: for a verifier around this
    /// one that checks the names itself ([`dns_names`](crate::dns_names)) and has its own identities.
    /// **Accepts any peer with a certificate of the anchors.** Returns when the first certificate of the path
    /// expires, in seconds since the Unix epoch, as [`PeerIdentity::expires_at`].
    ///
    /// # Errors
    /// Like [`verify`](PeerVerifier::verify), with the alert and the reason.
    pub fn verify_without_names(&self, question: &VerifyPeer) -> Result<u64, PeerRejected> {
        self.judge_chain(question, |_| Ok(())).map(|chain| chain.validity.not_after)
    }

    /// Judges a chain as a peer with this verifier would if this process presented it, at this time since the Unix epoch: for
    /// checks of a configuration. There is no proof that its owner presents it, so this **accepts no peer**. A server needs its
    /// name.
    ///
    /// # Errors
    /// Like [`verify`](PeerVerifier::verify), with the alert and the reason.
    pub fn would_accept(
        &self,
        role: Role,
        chain: &[Vec<u8>],
        server_name: Option<&str>,
        unix: u64,
    ) -> Result<(), PeerRejected> {
        let first = chain.first().map(|der| CertificateDer::from(der.as_slice()));
        let kem = first.as_ref().and_then(kem_of_certificate);
        let kem = kem.filter(|kem| self.kems.find(kem.scheme).is_some());
        let key_use = kem.map_or(KeyUse::Signing, |kem| kem.key_use);
        self.judge_path(role, chain, unix, key_use, |accepted| match self.looks_for_a_name(role) {
            true => for_server(accepted.end_entity, server_name).map(drop),
            false => identity::of_names(accepted.end_entity).map(drop),
        })
    }

    fn judge(&self, question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
        let JudgedPeer { validity, public_key, found: blob } =
            self.judge_chain(question, |chain| self.identity(chain.end_entity, question))?;
        let mut accepted =
            PeerAcceptance::new(PeerIdentity { blob, expires_at: Some(validity.not_after) });
        accepted.public_key = public_key;
        Ok(accepted)
    }

    /// Whether the peer is a server whose name must be checked.
    pub(crate) fn looks_for_a_name(&self, peer: Role) -> bool {
        peer == Role::Server && !self.leaves_server_names
    }

    /// Whether a chain as received is exactly the verified path, in order; the path's own anchor may follow.
    /// If any anchor could follow, one peer would have as many chains as there are roots.
    #[cfg(feature = "known-chains")]
    pub(crate) fn needs_all_of(&self, accepted: &AcceptedChain<'_>, came: &[Vec<u8>]) -> bool {
        let (first, others) = match came.split_first() {
            Some((first, others)) => (first, others),
            None => return false,
        };
        let mut path = accepted.intermediates();
        let mut others = others.iter();
        let is_path = path.all(|needed| others.next().is_some_and(|der| *der == *needed));
        let ends = match (others.as_slice(), accepted.path) {
            ([], _) => true,
            ([last], Some(path)) => {
                let last = CertificateDer::from(last.as_slice());
                self.anchors.contain(&last)
                    && anchor_from_trusted_cert(&last).is_ok_and(|last| last == *path.anchor())
            }
            _ => false,
        };
        *accepted.end_entity.der() == **first && is_path && ends
    }

    /// Returns the peer's identity, if its certificate is valid for it.
    pub(crate) fn identity(
        &self,
        end_entity: &EndEntityCert<'_>,
        question: &VerifyPeer,
    ) -> Result<Vec<u8>, PeerRejected> {
        if self.looks_for_a_name(question.peer) {
            for_server(end_entity, question.server_name.as_deref())
        } else {
            identity::of_names(end_entity)
        }
    }

    /// Judges the chain and the proof; `look` extracts data from an accepted chain, and may refuse it for its
    /// names.
    pub(crate) fn judge_chain<N>(
        &self,
        question: &VerifyPeer,
        look: impl FnOnce(&AcceptedChain<'_>) -> Result<N, PeerRejected>,
    ) -> Result<JudgedPeer<N>, PeerRejected> {
        if question.known.is_some() {
            let reason = "the peer names certificates that are not known here";
            return Err(reject(AlertDescription::BAD_CERTIFICATE, reason));
        }
        let unix = question.unix.ok_or_else(|| ours("the time is not known"))?;
        let proof = PeerProof::of(question, &self.algorithms, &self.kems)?;
        self.judge_path(question.peer, &question.chain, unix, proof.key_use(), |accepted| {
            let found = look(accepted)?;
            let public_key = proof.judge_by_certificate(accepted.end_entity)?;
            let validity = accepted
                .validity()
                .ok_or_else(|| ours("the certificates have no readable expiry date"))?;
            Ok(JudgedPeer { validity, public_key, found })
        })
    }

    /// Judges a chain without the proof; `look` may refuse what was accepted.
    fn judge_path<N>(
        &self,
        peer: Role,
        chain: &[Vec<u8>],
        unix: u64,
        key_use: KeyUse,
        look: impl FnOnce(&AcceptedChain<'_>) -> Result<N, PeerRejected>,
    ) -> Result<N, PeerRejected> {
        let is_server = peer == Role::Server;
        let chain: Vec<_> = chain.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
        let (first, intermediates) = chain
            .split_first()
            .ok_or_else(|| reject(AlertDescription::DECODE_ERROR, "no certificate"))?;
        let end_entity = EndEntityCert::try_from(first).map_err(|e| alerts::certificate(&e))?;

        let path = if self.anchors.contain(first) {
            let algorithms = self.algorithms.chain;
            check_own(&end_entity, first, algorithms, unix, is_server)?;
            None
        } else {
            let lists = self.revocation.as_ref().map(Revocation::lists).unwrap_or_default();
            let path = end_entity
                .verify_for_usage(
                    self.algorithms.chain,
                    self.anchors.issuers(),
                    intermediates,
                    UnixTime::since_unix_epoch(Duration::from_secs(unix)),
                    if is_server { KeyUsage::server_auth() } else { KeyUsage::client_auth() },
                    self.revocation.as_ref().and_then(|revocation| revocation.options(&lists)),
                    None,
                )
                .map_err(|e| alerts::certificate(&e))?;
            Some(path)
        };

        key_usage::check(first, key_use)?;

        look(&AcceptedChain { end_entity: &end_entity, path: path.as_ref() })
    }
}

/// Returns the requested server name, if the certificate is valid for it.
fn for_server(
    certificate: &EndEntityCert<'_>,
    server_name: Option<&str>,
) -> Result<Vec<u8>, PeerRejected> {
    let Some(name) = server_name else {
        return Err(ours("no server name to verify the server for"));
    };
    let parsed = ServerName::try_from(name)
        .map_err(|_| ours("the server name is neither a DNS name nor an IP address"))?;
    let valid = certificate.verify_is_valid_for_subject_name(&parsed);
    valid.map_err(|e| alerts::certificate_for(name, &e))?;
    Ok(name.as_bytes().to_vec())
}

/// Rejects a peer for a lack of local configuration, which is not the peer's fault.
pub(crate) fn ours(reason: &str) -> PeerRejected {
    reject(AlertDescription::INTERNAL_ERROR, reason)
}

impl PeerVerifier for WebPkiVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        &self.chain_schemes
    }

    fn authorities(&self) -> &[Vec<u8>] {
        &self.authorities
    }

    fn policy(&self) -> VerifierPolicy {
        let revocation = self.revocation.as_ref().map(Revocation::policy);
        let policy = self
            .algorithms
            .add_to(VerifierPolicy::new("tessera-webpki: chains, 2"), self.algorithms.chain)
            .with_set(self.anchors.policies())
            .with_set(revocation);
        let policy =
            if self.leaves_server_names { policy.with(b"any server name") } else { policy };
        self.kems.add_to(policy)
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        kem_of(asked).map(|kem| kem.scheme)
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Now(self.judge(question))
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        self.algorithms.verify_signature(question).is_ok()
    }
}

impl core::fmt::Debug for WebPkiVerifier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WebPkiVerifier")
            .field("anchors", &self.anchors.subjects().len())
            .field("schemes", &self.schemes)
            .field("checks_revocation", &self.revocation.is_some())
            .finish()
    }
}
