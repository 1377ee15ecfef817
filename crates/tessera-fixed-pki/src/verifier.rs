//! The verifier.

use alloc::vec::Vec;
use core::fmt;

use pki_types::SignatureVerificationAlgorithm;
use tessera::Role;
#[cfg(feature = "kems")]
use tessera::auth::AskedKey;
#[cfg(feature = "kems")]
use tessera::auth::Proof;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected, PeerVerifier, VerifierPolicy,
    VerifyPeer, joined,
};
use tessera::handshake::Reply;
#[cfg(feature = "kems")]
use tessera::wire::CertificateType;
use tessera::wire::SignatureScheme;

use crate::algorithms::{Algorithms, CertificateAlgorithms};
use crate::anchor::Anchor;
use crate::certificate::{Certificate, KeyUse};
use crate::clients;
use crate::defect::Defect;
use crate::error::ConfigError;
#[cfg(feature = "kems")]
use crate::kems;
use crate::names;
use crate::path::{Path, Rules};
use crate::proof::check_proof;

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
    #[cfg(feature = "kems")]
    kems: Vec<SignatureScheme>,
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
        Ok(Self {
            anchors,
            algorithms,
            schemes,
            checks_dates: true,
            identifies: None,
            #[cfg(feature = "kems")]
            kems: Vec::new(),
        })
    }

    /// Accepts peers with keys of these KEMs as well, which decapsulate instead of signing (docs/kem-auth.md): ML-KEM-512,
    /// ML-KEM-768 and ML-KEM-1024 (RFC 9935). Their certificates are signed as all others. They are offered after all
    /// signatures, in this order.
    ///
    /// # Errors
    /// Returns an error for an empty list, and for other schemes.
    #[cfg(feature = "kems")]
    pub fn accepting_kems(mut self, schemes: &[SignatureScheme]) -> Result<Self, ConfigError> {
        if schemes.is_empty() || !schemes.iter().all(|scheme| kems::is_known(*scheme)) {
            return Err(ConfigError::Kem);
        }
        for scheme in schemes {
            if !self.kems.contains(scheme) {
                self.kems.push(*scheme);
                self.schemes.push(*scheme);
            }
        }
        Ok(self)
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
        let path = self.path(role, chain, unix, self.use_of_key(chain))?;
        self.identity(&path.end_entity, role, server_name).map(drop)
    }

    /// Returns the path of an accepted peer; its identity, empty if its names don't count; and its key if the engine needs it.
    pub(crate) fn judge<'q>(
        &self,
        question: &'q VerifyPeer,
        names: bool,
    ) -> Result<(Path<'q>, Vec<u8>, Option<PeerPublicKey>), Defect> {
        if question.known.is_some() {
            return Err(Defect::NotSent);
        }
        let key_use = match &question.proof {
            #[cfg(feature = "kems")]
            Proof::Kem { .. } => KeyUse::Decapsulation,
            _ => KeyUse::Signing,
        };
        let path = self.path(question.peer, &question.chain, question.unix, key_use)?;
        let name = question.server_name.as_deref();
        let identity = match names {
            true => self.identity(&path.end_entity, question.peer, name)?,
            false => Vec::new(),
        };
        let public_key = self.check_proof(question, path.end_entity.public_key)?;
        Ok((path, identity, public_key))
    }

    /// Returns what the end entity's key would do in a handshake.
    fn use_of_key(&self, chain: &[Vec<u8>]) -> KeyUse {
        #[cfg(feature = "kems")]
        if let Some(first) = chain.first()
            && kems::of_certificate(first).is_some_and(|scheme| self.kems.contains(&scheme))
        {
            return KeyUse::Decapsulation;
        }
        let _ = chain;
        KeyUse::Signing
    }

    /// Returns the path of a chain whose end entity's key may do this.
    fn path<'c>(
        &self,
        peer: Role,
        chain: &'c [Vec<u8>],
        unix: Option<u64>,
        key_use: KeyUse,
    ) -> Result<Path<'c>, Defect> {
        let unix = match self.checks_dates {
            true => Some(unix.ok_or(Defect::NoTime)?),
            false => None,
        };
        let rules = Rules { anchors: &self.anchors, algorithms: self.algorithms, peer, unix };
        let path = rules.path(chain)?;
        path.end_entity.extensions.check_use(key_use)?;
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

    /// Checks that the peer holds the private half of this key (a SubjectPublicKeyInfo), or returns the key with which it
    /// will prove that.
    pub(crate) fn check_proof(
        &self,
        question: &VerifyPeer,
        public_key: &[u8],
    ) -> Result<Option<PeerPublicKey>, Defect> {
        check_proof(question, public_key, self.algorithms.alike, &self.schemes)
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
        let policy = self.anchors.iter().fold(policy, |policy, anchor| anchor.add_to(policy));
        // It stays as it is without any: sessions survive.
        #[cfg(feature = "kems")]
        if !self.kems.is_empty() {
            let kems = self.kems.iter().map(|scheme| scheme.0.to_be_bytes());
            return policy.with(b"KEMs").with_set(kems);
        }
        policy
    }

    #[cfg(feature = "kems")]
    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        let first = asked.chain.first()?;
        // The memory of chains asks about the key that it has kept of one.
        match asked.certificate_type {
            CertificateType::RAW_PUBLIC_KEY => kems::of_key(first),
            _ => kems::of_certificate(first),
        }
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let judged = self.judge(question, true).map(|(path, blob, public_key)| {
            let expires_at = self.checks_dates.then_some(path.validity.not_after);
            let mut accepted = PeerAcceptance::new(PeerIdentity { blob, expires_at });
            accepted.public_key = public_key;
            accepted
        });
        Reply::Now(judged.map_err(PeerRejected::from))
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        let first = question.chain.first().map(|der| Certificate::read(der));
        first.is_some_and(|first| {
            first.is_ok_and(|first| {
                // A KEM has proved nothing yet.
                first.extensions.check_use(KeyUse::Signing).is_ok()
                    && matches!(self.check_proof(question, first.public_key), Ok(None))
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
