//! Who judges a peer's certificate and CertificateVerify.

use alloc::string::String;
use alloc::vec::Vec;

pub use crate::error::PeerRejected;
use crate::question::{Question, Reply};
use crate::wire::{CertificateType, EntryExtensions, SignatureScheme};

/// Judges peers: certificate chain, name and signature. `tessera-webpki` implements it.
pub trait PeerVerifier: Send + Sync {
    /// The signature schemes that this verifier can check, in order of preference; they go into
    /// signature_algorithms.
    fn schemes(&self) -> &[SignatureScheme];

    /// The schemes that certificates may be signed with, where [`schemes`](Self::schemes) doesn't
    /// say it: they go into signature_algorithms_cert (RFC 8446 §4.2.3). At first none.
    fn chain_schemes(&self) -> &[SignatureScheme] {
        &[]
    }

    /// The names of the authorities whose certificates are accepted, each as a DER `Name`: they go
    /// into certificate_authorities (RFC 8446 §4.2.4), and help a peer with several certificates.
    /// Everybody who asks learns them. At first none; at most 16 KiB in all, lengths of two bytes
    /// included.
    fn authorities(&self) -> &[Vec<u8>] {
        &[]
    }

    /// The types of certificates that this verifier takes, in order of preference (RFC 7250): X.509
    /// alone, unless it says otherwise. Each at most once.
    fn certificate_types(&self) -> &[CertificateType] {
        &[CertificateType::X509]
    }

    /// What the peer is asked to send beside its certificates; whatever comes is in the question.
    /// At first nothing: a verifier asks for what it checks.
    fn entry_extensions(&self) -> EntryExtensions {
        EntryExtensions::default()
    }

    /// Judges a peer, now or later.
    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerIdentity, PeerRejected>>;
}

/// The question whether the peer is who it should be: everything that Certificate and
/// CertificateVerify brought (RFC 8446 §4.4.2, §4.4.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyPeer {
    /// The name that the certificate must be valid for: set when the peer is a server, `None` when
    /// it is a client.
    pub server_name: Option<String>,
    /// Whether the peer is the server; decides the extended key usage that must be there.
    pub peer_is_server: bool,
    /// What `chain` holds, one of the types that the verifier named.
    pub certificate_type: CertificateType,
    /// The certificates as DER, the end entity first, never empty; or the SubjectPublicKeyInfo alone.
    pub chain: Vec<Vec<u8>>,
    /// The OCSP response that came with the end entity, DER: not empty, and otherwise whatever the peer
    /// sent. Only if the verifier asked for it.
    pub ocsp_response: Option<Vec<u8>>,
    /// The SignedCertificateTimestampList that came with the end entity, its length included (RFC
    /// 6962 §3.3): one or more SCTs, none of them empty, and otherwise whatever the peer sent. Only
    /// if the verifier asked for it.
    pub sct_list: Option<Vec<u8>>,
    /// The scheme of `signature`, one of those that the verifier named.
    pub scheme: SignatureScheme,
    /// What was signed: padding, context string and transcript hash.
    pub signed: Vec<u8>,
    /// The signature to be checked with the end entity's public key.
    pub signature: Vec<u8>,
    /// Seconds since the Unix epoch, where a clock is known.
    pub unix: Option<u64>,
}

impl Question for VerifyPeer {
    type Answer = Result<PeerIdentity, PeerRejected>;
}

/// Who a peer is, in the words of whoever verified it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PeerIdentity {
    /// Owner-defined; travels in tickets, so the engine bounds it to
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
