//! What can be wrong with a peer, and the alert for it.

use core::fmt;

use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;

/// What is wrong with a peer's certificates, its names or its proof; or, for the last ones, with the question or this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// The peer sent no certificate.
    NoCertificate,
    /// A certificate isn't DER, or not a certificate (RFC 5280 §4.1).
    Malformed,
    /// A certificate has another version than 3 (RFC 5280 §4.1.2.1).
    Version,
    /// The two signature algorithms of a certificate differ (RFC 5280 §4.1.1.2).
    AlgorithmsDiffer,
    /// A certificate has an extension twice (RFC 5280 §4.2).
    DuplicateExtension,
    /// A certificate has a critical extension that isn't known here (RFC 5280 §4.2).
    CriticalExtension,
    /// A certificate has name constraints, which are not supported (RFC 5280 §4.2.1.10).
    NameConstraints,
    /// A certificate expires before it becomes valid.
    Dates,
    /// A certificate isn't valid yet (RFC 5280 §6.1.3 (a) (2)).
    NotYetValid,
    /// A certificate has expired (RFC 5280 §6.1.3 (a) (2)).
    Expired,
    /// The end entity's certificate is an authority's.
    IsAuthority,
    /// An issuer's certificate isn't an authority's (RFC 5280 §6.1.4 (k)).
    NotAuthority,
    /// An issuer's key must not sign certificates (RFC 5280 §6.1.4 (n)).
    IssuerKeyUsage,
    /// An issuer allows fewer authorities below it (RFC 5280 §6.1.4 (l), (m)).
    PathLength,
    /// A chain to an anchor would have more certificates than this verifier allows.
    TooManyCertificates,
    /// The end entity's key must not sign (RFC 8446 §4.4.2.2).
    KeyUsage,
    /// The end entity's key, one of ML-KEM, must not decapsulate (RFC 9935 §5).
    KemKeyUsage,
    /// A certificate is for other purposes (RFC 5280 §4.2.1.12).
    ExtendedKeyUsage,
    /// No trust anchor, and not the next certificate, issued a certificate.
    UnknownIssuer,
    /// A certificate is signed with an algorithm that isn't accepted.
    Algorithm,
    /// A certificate is signed with an algorithm that doesn't fit the issuer's key.
    KeyAlgorithm,
    /// The signature of a certificate is wrong.
    Signature,
    /// The certificate is for other names (RFC 9525 §6).
    Name,
    /// The certificate names no peer.
    NoNames,
    /// The certificate's names don't fit into [`PeerIdentity::MAX_LEN`](tessera::auth::PeerIdentity::MAX_LEN).
    LongNames,
    /// The peer's proof is neither a signature nor by a KEM that is accepted.
    ProofKind,
    /// The scheme of the peer's signature wasn't offered (RFC 8446 §4.4.3).
    Scheme,
    /// The scheme of the peer's signature doesn't fit its key.
    SchemeOfAnotherKey,
    /// The peer's signature is wrong.
    ProofSignature,
    /// The peer presents something else than a raw public key, and this verifier knows keys alone (RFC 7250).
    NotRawKey,
    /// The peer's raw public key isn't pinned, or for another name.
    UnknownKey,
    /// The peer named certificates instead of sending them, and this verifier remembers none.
    NotSent,
    /// This verifier checks dates, and there is no clock.
    NoTime,
    /// There is no name to verify the server for, or it is no DNS name.
    ServerName,
    /// The peer is a client, and this verifier accepts servers alone.
    IsClient,
    /// There is no memory for a copy of the peer's names.
    OutOfMemory,
}

impl Defect {
    /// Returns the alert for it (RFC 8446 §6.2): the one that `tessera-webpki` sends for the same defect.
    #[must_use]
    pub fn alert(self) -> AlertDescription {
        match self {
            Self::NoCertificate => AlertDescription::DECODE_ERROR,
            Self::NotYetValid | Self::Expired => AlertDescription::CERTIFICATE_EXPIRED,
            Self::UnknownIssuer => AlertDescription::UNKNOWN_CA,
            Self::UnknownKey => AlertDescription::CERTIFICATE_UNKNOWN,
            Self::Version
            | Self::CriticalExtension
            | Self::NameConstraints
            | Self::IsAuthority
            | Self::KeyUsage
            | Self::KemKeyUsage
            | Self::ExtendedKeyUsage
            | Self::Algorithm
            | Self::KeyAlgorithm
            | Self::NoNames
            | Self::LongNames
            | Self::ProofKind
            | Self::NotRawKey => AlertDescription::UNSUPPORTED_CERTIFICATE,
            Self::Scheme | Self::SchemeOfAnotherKey => AlertDescription::ILLEGAL_PARAMETER,
            // RFC 8446 §4.4.3.
            Self::ProofSignature => AlertDescription::DECRYPT_ERROR,
            Self::NoTime | Self::ServerName | Self::IsClient | Self::OutOfMemory => {
                AlertDescription::INTERNAL_ERROR
            }
            Self::Malformed
            | Self::AlgorithmsDiffer
            | Self::DuplicateExtension
            | Self::Dates
            | Self::NotAuthority
            | Self::IssuerKeyUsage
            | Self::PathLength
            | Self::TooManyCertificates
            | Self::Signature
            | Self::Name
            | Self::NotSent => AlertDescription::BAD_CERTIFICATE,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::NoCertificate => "no certificate",
            Self::Malformed => "certificate: it is not DER, or malformed",
            Self::Version => "certificate: it is not of version 3",
            Self::AlgorithmsDiffer => "certificate: its two signature algorithms differ",
            Self::DuplicateExtension => "certificate: it has an extension twice",
            Self::CriticalExtension => "certificate: an unknown extension is critical",
            Self::NameConstraints => "certificate: name constraints are not supported",
            Self::Dates => "certificate: it expires before it becomes valid",
            Self::NotYetValid => "certificate: it is not valid yet",
            Self::Expired => "certificate: it has expired",
            Self::IsAuthority => "certificate: it is an authority's own",
            Self::NotAuthority => "certificate: its issuer is no authority",
            Self::IssuerKeyUsage => "certificate: its issuer's key usage lacks keyCertSign",
            Self::PathLength => "certificate: too many authorities below one that limits them",
            Self::TooManyCertificates => "certificate: its chain is too long",
            Self::KeyUsage => "certificate: its key usage lacks digitalSignature",
            Self::KemKeyUsage => "certificate: its key usage lacks keyEncipherment",
            Self::ExtendedKeyUsage => "certificate: it is for other uses",
            Self::UnknownIssuer => {
                "certificate: no trusted root issued it, nor the certificate sent after it"
            }
            Self::Algorithm => "certificate: a signature algorithm is not accepted",
            Self::KeyAlgorithm => "certificate: a signature algorithm does not fit the key",
            Self::Signature => "certificate: a signature is wrong",
            Self::Name => "certificate: it is for other names",
            Self::NoNames => "the certificate has no names",
            Self::LongNames => "the certificate's names are too long for an identity",
            Self::ProofKind => "the peer's proof is of a kind that is not accepted",
            Self::Scheme => "CertificateVerify: scheme not offered",
            Self::SchemeOfAnotherKey => "CertificateVerify: the scheme does not fit the key",
            Self::ProofSignature => "CertificateVerify: the signature is wrong",
            Self::NotRawKey => "not a raw public key, and nothing else is accepted",
            Self::UnknownKey => "the peer's public key is not known",
            Self::NotSent => "the peer names certificates that are not known here",
            Self::NoTime => "the clock has no date to check certificates by",
            Self::ServerName => "no DNS name to verify the server for",
            Self::IsClient => "clients are not accepted here",
            Self::OutOfMemory => "no memory for a copy of the peer's names",
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl core::error::Error for Defect {}

impl From<Defect> for PeerRejected {
    fn from(defect: Defect) -> Self {
        let reason = if cfg!(feature = "reasons") { defect.words() } else { "" };
        Self::new(defect.alert(), reason)
    }
}
