//! The judge of a peer's certificate and its proof.

use alloc::string::String;
use alloc::vec::Vec;

use super::policy::VerifierPolicy;
use super::proof::{PeerPublicKey, Proof};
pub use crate::error::PeerRejected;
use crate::question::{Question, Reply};
use crate::role::Role;
use crate::wire::{CertificateType, EntryExtensions, SignatureScheme};

/// Judges peers: certificate chain, name and proof. `tessera-webpki` implements it.
pub trait PeerVerifier: Send + Sync {
    /// Returns the signature schemes that this verifier can check, and the KEMs that it accepts in their place
    /// ([`kem_scheme`](Self::kem_scheme)), in order of preference; they go into signature_algorithms.
    fn schemes(&self) -> &[SignatureScheme];

    /// Returns the schemes that certificates may be signed with, if they differ from
    /// [`schemes`](Self::schemes); they go into signature_algorithms_cert (RFC 8446 §4.2.3).
    /// Default: none.
    fn chain_schemes(&self) -> &[SignatureScheme] {
        &[]
    }

    /// Returns the names of the authorities whose certificates are accepted, each as a DER `Name`; they go
    /// into certificate_authorities (RFC 8446 §4.2.4) and help a peer with several certificates choose.
    /// Every peer sees them. Default: none. At most 16 KiB in all, two-byte lengths included.
    fn authorities(&self) -> &[Vec<u8>] {
        &[]
    }

    /// Returns the types of certificates that this verifier accepts, in order of preference (RFC 7250), each at
    /// most once. Default: X.509 alone.
    fn certificate_types(&self) -> &[CertificateType] {
        &[CertificateType::X509]
    }

    /// Returns what the peer is asked to send with its certificates; what arrives is in the question.
    /// Default: nothing. A verifier should ask only for what it checks.
    fn entry_extensions(&self) -> EntryExtensions {
        EntryExtensions::default()
    }

    /// Returns the KEM of the end entity's key, accepted or not, if its holder authenticates by decapsulating
    /// (docs/kem-auth.md); `None`, the default, if by a signature. Called before [`verify`](Self::verify), and only if one of
    /// the [`schemes`](Self::schemes) is a KEM. A verifier that wraps another one delegates.
    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        let _ = asked;
        None
    }

    /// Returns what this verifier accepts, as a value: trust anchors, names, pinned keys, its treatment of
    /// revocation, and everything else that decides.
    ///
    /// The value changes whenever the verifier accepts more or fewer peers than before, or assigns
    /// them other identities. If the policy includes the data on which it decides, such as the contents of a
    /// revocation list, a change of that data ends sessions by itself; for data looked up elsewhere under the same
    /// policy, use [`ServerConfig::policy_epoch`](crate::ServerConfig::policy_epoch).
    ///
    /// A session is resumed under an equal policy, or one that the server's owner lists
    /// ([`ServerConfig::also_resume_peers_accepted_by`](crate::ServerConfig::also_resume_peers_accepted_by)),
    /// without asking the verifier again.
    /// Called once, when a configuration is checked: a verifier that begins to accept
    /// other peers while in use needs a new configuration. There is no default, since two verifiers
    /// that both forget to override it would appear equal. A verifier that wraps another one includes its
    /// policy ([`VerifierPolicy::with_policy`]).
    fn policy(&self) -> VerifierPolicy;

    /// Judges a peer, now or later.
    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>>;

    /// Returns whether the proof is right under the question's key, whatever else speaks against the peer.
    ///
    /// Called at once after this verifier has rejected a client that named its chain, unless with decrypt_error, which
    /// means that the proof is wrong (RFC 8446 §4.4.3). It distinguishes the client itself from an attacker who copied
    /// its chain's name ([`CertificateCodec::peer_rejected`](super::CertificateCodec::peer_rejected)). A verifier that
    /// wraps another one delegates. Not called if the verdict comes later. Default: `false`, and codecs forget
    /// nothing of the client.
    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        let _ = question;
        false
    }
}

/// A certificate whose holder has proved nothing yet, as in the [`VerifyPeer`] that follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedKey<'a> {
    /// Which end the peer is.
    pub peer: Role,
    /// The name that the certificate must be valid for.
    pub server_name: Option<&'a str>,
    /// What `chain` holds.
    pub certificate_type: CertificateType,
    /// The certificates as DER, or the SubjectPublicKeyInfo alone; empty if the chain is `known`.
    pub chain: &'a [Vec<u8>],
    /// The hash of the chain, if the verifier knows it.
    pub known: Option<&'a [u8; 32]>,
    /// Seconds since the Unix epoch, if known.
    pub unix: Option<u64>,
}

/// The question whether the peer is the expected one: everything in its certificate flight
/// (RFC 8446 §4.4.2, §4.4.3).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyPeer {
    /// Which end the peer is; decides the required extended key usage.
    pub peer: Role,
    /// The name that the certificate must be valid for: set if the peer is a server, `None` if
    /// it is a client.
    pub server_name: Option<String>,
    /// What `chain` holds: one of the types that the verifier listed.
    pub certificate_type: CertificateType,
    /// The certificates as DER, the end entity first; or the SubjectPublicKeyInfo alone. Empty only if
    /// the chain is `known`: a verifier that remembers no chains refuses an empty one.
    pub chain: Vec<Vec<u8>>,
    /// The hash of the chain, if a codec reported that this verifier knows it
    /// ([`CertificateContents::Known`](super::CertificateContents::Known)); `chain` is then empty.
    pub known: Option<[u8; 32]>,
    /// The OCSP response that came with the end entity, DER: not empty, otherwise unchecked.
    /// Only if the verifier asked for it.
    pub ocsp_response: Option<Vec<u8>>,
    /// The SignedCertificateTimestampList that came with the end entity, its length included
    /// (RFC 6962 §3.3): one or more SCTs, none of them empty, otherwise unchecked. Only if the verifier
    /// asked for it.
    pub sct_list: Option<Vec<u8>>,
    /// The proof that the peer holds the end entity's private key.
    pub proof: Proof,
    /// Seconds since the Unix epoch, if known.
    pub unix: Option<u64>,
}

impl Question for VerifyPeer {
    type Answer = Result<PeerAcceptance, PeerRejected>;
}

impl VerifyPeer {
    /// Creates the question about a peer with an X.509 chain, without a name, a time or stapled data.
    /// For tests of verifiers; the engine makes those of real connections.
    pub fn new(peer: Role, chain: Vec<Vec<u8>>, proof: Proof) -> Self {
        Self {
            peer,
            server_name: None,
            certificate_type: CertificateType::X509,
            chain,
            known: None,
            ocsp_response: None,
            sct_list: None,
            proof,
            unix: None,
        }
    }
}

/// A verifier's answer: the peer's identity, and its public key if the proof needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerAcceptance {
    /// The peer's identity.
    pub identity: PeerIdentity,
    /// The public key of the end entity, with [`Proof::Kem`] alone: the engine encapsulates to it. With
    /// [`Proof::Signature`] the verifier itself checks the proof.
    pub public_key: Option<PeerPublicKey>,
    /// The [`chain_hash`](super::chain_hash) of the question's chain, if the verifier has computed it.
    ///
    /// Certificate codecs then need not ([`PeerCertificate::chain_hash`](super::PeerCertificate::chain_hash)). It isn't
    /// checked: a chain with a wrong hash is not found again. A verifier that passes a changed chain to another one
    /// removes the hash.
    pub chain_hash: Option<[u8; 32]>,
}

impl PeerAcceptance {
    /// Accepts a peer whose proof the verifier has checked.
    pub fn new(identity: PeerIdentity) -> Self {
        Self { identity, public_key: None, chain_hash: None }
    }

    /// Accepts a peer if it proves that it holds the private half of this key.
    pub fn with_public_key(identity: PeerIdentity, public_key: PeerPublicKey) -> Self {
        Self { identity, public_key: Some(public_key), chain_hash: None }
    }
}

impl From<PeerIdentity> for PeerAcceptance {
    fn from(identity: PeerIdentity) -> Self {
        Self::new(identity)
    }
}

/// A peer's identity, as its verifier names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeerIdentity {
    /// Owner-defined; travels in tickets, so the engine limits it to
    /// [`MAX_LEN`](Self::MAX_LEN) bytes.
    pub blob: Vec<u8>,
    /// When the first certificate of the chain expires, in seconds since the Unix epoch. No
    /// resumption outlives it.
    pub expires_at: Option<u64>,
}

impl PeerIdentity {
    /// The longest identity, in bytes.
    pub const MAX_LEN: usize = 1024;
}
