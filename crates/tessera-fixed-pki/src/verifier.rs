//! The verifier.

use alloc::vec::Vec;
use core::fmt;

use pki_types::SignatureVerificationAlgorithm;
use tessera::Role;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, Proof, VerifierPolicy, VerifyPeer,
    joined,
};
use tessera::handshake::Reply;
use tessera::wire::SignatureScheme;

use crate::algorithms::{Algorithms, CertificateAlgorithms, check_proof};
use crate::anchor::Anchor;
use crate::certificate::Certificate;
use crate::clients;
use crate::defect::Defect;
use crate::error::ConfigError;
use crate::names;
use crate::path::{Path, Rules};

/// Verifies servers, and on request clients, by chains of a fixed PKI. The crate's page lists what it checks.
///
/// A server's [`PeerIdentity::blob`] is the server name that it was verified for, as requested.
/// [`PeerIdentity::expires_at`] is the earliest notAfter below the anchor, or nothing if dates go unchecked.
pub struct FixedPkiVerifier {
    anchors: Vec<Anchor>,
    algorithms: CertificateAlgorithms,
    schemes: Vec<SignatureScheme>,
    pub(crate) checks_dates: bool,
    /// Names clients. A function that isn't set isn't linked.
    identifies: Option<Identify>,
}

/// Makes a client's identity.
type Identify = fn(&Certificate<'_>) -> Result<Vec<u8>, Defect>;

impl FixedPkiVerifier {
    /// Makes a verifier of servers under these anchors. The algorithms are a provider's, such as
    /// `tessera_rustcrypto::HANDSHAKE_ALGORITHMS`.
    pub fn new(anchors: Vec<Anchor>, algorithms: Algorithms) -> Result<Self, ConfigError> {
        if anchors.is_empty() {
            return Err(ConfigError::NoAnchors);
        }
        let mut schemes = Vec::with_capacity(algorithms.len());
        for (scheme, _) in algorithms {
            if !scheme.signs_handshakes() {
                return Err(ConfigError::Scheme);
            }
            if !schemes.contains(scheme) {
                schemes.push(*scheme);
            }
        }
        if schemes.is_empty() {
            return Err(ConfigError::NoAlgorithms);
        }
        let algorithms = CertificateAlgorithms { alike: algorithms, others: &[] };
        Ok(Self { anchors, algorithms, schemes, checks_dates: true, identifies: None })
    }

    /// Accepts clients, too. Their identities are those of `tessera_webpki::WebPkiVerifier`: DNS names and URIs as
    /// `dns:NAME` and `uri:URI`, sorted, without duplicates, separated by one space; or else `subject:` and the contents of
    /// the subject. A client without names, or with more than fit into [`PeerIdentity::MAX_LEN`], is refused.
    #[must_use]
    pub fn accepting_clients(mut self) -> Self {
        self.identifies = Some(clients::identity);
        self
    }

    /// Accepts these algorithms in certificates, too, but not in handshakes: for RSASSA-PKCS1-v1_5 (RFC 8446 §4.2.3). They
    /// may be all of a provider's, such as `tessera_rustcrypto::CHAIN_ALGORITHMS`. The schemes, such as
    /// `tessera_rustcrypto::CHAIN_SCHEMES`, are offered after those of handshakes, since a peer may hold back a chain that
    /// signature_algorithms doesn't allow.
    #[must_use]
    pub fn accepting_in_certificates(
        mut self,
        algorithms: &'static [&'static dyn SignatureVerificationAlgorithm],
        schemes: &[SignatureScheme],
    ) -> Self {
        self.algorithms.others = algorithms;
        self.schemes.extend_from_slice(schemes);
        self
    }

    /// Checks no dates, with a clock or without: for devices that have none. **A certificate is accepted long after it has
    /// expired**, so that a stolen key stays useful until the anchor is replaced. Without this, a device without a clock
    /// accepts no peer.
    #[must_use]
    pub fn without_checking_dates(mut self) -> Self {
        self.checks_dates = false;
        self
    }

    /// Judges a chain (DER, the end entity first) as a peer with this verifier would if this process presented it, at this
    /// time since the Unix epoch: for checks of a configuration. There is no proof that its owner presents it, so this
    /// **accepts no peer**. A server needs its name.
    ///
    /// # Errors
    /// Returns what is wrong.
    pub fn would_accept(
        &self,
        role: Role,
        chain: &[Vec<u8>],
        server_name: Option<&str>,
        unix: Option<u64>,
    ) -> Result<(), Defect> {
        let path = self.path(role, chain, unix)?;
        self.identity(&path.end_entity, role, server_name).map(drop)
    }

    /// Returns the path of an accepted peer, and its identity; empty if its names don't count.
    pub(crate) fn judge<'q>(
        &self,
        question: &'q VerifyPeer,
        names: bool,
    ) -> Result<(Path<'q>, Vec<u8>), Defect> {
        if question.known.is_some() {
            return Err(Defect::NotSent);
        }
        let path = self.path(question.peer, &question.chain, question.unix)?;
        let name = question.server_name.as_deref();
        let identity = match names {
            true => self.identity(&path.end_entity, question.peer, name)?,
            false => Vec::new(),
        };
        self.check_proof(question, path.end_entity.public_key)?;
        Ok((path, identity))
    }

    /// Returns the path of a chain whose end entity may sign handshakes.
    fn path<'c>(
        &self,
        peer: Role,
        chain: &'c [Vec<u8>],
        unix: Option<u64>,
    ) -> Result<Path<'c>, Defect> {
        let unix = match self.checks_dates {
            true => Some(unix.ok_or(Defect::NoTime)?),
            false => None,
        };
        let rules = Rules { anchors: &self.anchors, algorithms: self.algorithms, peer, unix };
        let path = rules.path(chain)?;
        path.end_entity.extensions.check_signs()?;
        Ok(path)
    }

    /// Returns the peer's identity, if its certificate is valid for it.
    fn identity(
        &self,
        end_entity: &Certificate<'_>,
        peer: Role,
        server_name: Option<&str>,
    ) -> Result<Vec<u8>, Defect> {
        match peer {
            Role::Server => {
                let name = server_name.ok_or(Defect::ServerName)?;
                names::check_server(end_entity.extensions.names, name)?;
                joined(&[name.as_bytes()]).map_err(|_| Defect::OutOfMemory)
            }
            Role::Client => (self.identifies.ok_or(Defect::IsClient)?)(end_entity),
        }
    }

    /// Checks that the peer holds the private half of this key (a SubjectPublicKeyInfo).
    pub(crate) fn check_proof(
        &self,
        question: &VerifyPeer,
        public_key: &[u8],
    ) -> Result<(), Defect> {
        let Proof::Signature { scheme, signed, signature } = &question.proof else {
            return Err(Defect::ProofKind);
        };
        check_proof(self.algorithms.alike, public_key, *scheme, (signed, signature))
    }
}

impl PeerVerifier for FixedPkiVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn policy(&self) -> VerifierPolicy {
        let mut policy = VerifierPolicy::new("tessera-fixed-pki: chains, 1")
            .with(&[u8::from(self.checks_dates), u8::from(self.identifies.is_some())]);
        for (scheme, algorithm) in self.algorithms.alike {
            policy = policy
                .with(&scheme.0.to_be_bytes())
                .with(&algorithm.public_key_alg_id())
                .with(&algorithm.signature_alg_id());
        }
        // They have no scheme: no code point is as short.
        for algorithm in self.algorithms.others {
            policy = policy
                .with(&[])
                .with(&algorithm.public_key_alg_id())
                .with(&algorithm.signature_alg_id());
        }
        self.anchors.iter().fold(policy, |policy, anchor| anchor.add_to(policy))
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let judged = self.judge(question, true).map(|(path, blob)| {
            let expires_at = self.checks_dates.then_some(path.validity.not_after);
            PeerAcceptance::new(PeerIdentity { blob, expires_at })
        });
        Reply::Now(judged.map_err(PeerRejected::from))
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        let first = question.chain.first().map(|der| Certificate::read(der));
        first.is_some_and(|first| {
            first.is_ok_and(|first| {
                first.extensions.check_signs().is_ok()
                    && self.check_proof(question, first.public_key).is_ok()
            })
        })
    }
}

impl fmt::Debug for FixedPkiVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedPkiVerifier")
            .field("anchors", &self.anchors.len())
            .field("schemes", &self.schemes)
            .field("checks_dates", &self.checks_dates)
            .finish()
    }
}
