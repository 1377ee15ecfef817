//! Maps webpki's errors to alerts (RFC 8446 §6.2).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv6Addr;

use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;
use webpki::Error;

/// Makes a rejection.
pub(crate) fn reject(alert: AlertDescription, reason: impl Into<String>) -> PeerRejected {
    PeerRejected { alert, reason: reason.into() }
}

/// Rejects a certificate or its chain.
pub(crate) fn certificate(error: &Error) -> PeerRejected {
    reject(of_certificate(error), format!("certificate: {}", words(error)))
}

/// Rejects a certificate of a server that was expected under this name.
pub(crate) fn certificate_for(name: &str, error: &Error) -> PeerRejected {
    let mut rejected = certificate(error);
    if matches!(error, Error::CertNotValidForName(_)) {
        rejected.reason.push_str(&format!("; not for {}", shown(name)));
    }
    rejected
}

/// Rejects a CertificateVerify.
pub(crate) fn certificate_verify(error: &Error) -> PeerRejected {
    let alert = match error {
        // The scheme does not fit the key: one field contradicts another.
        Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            AlertDescription::ILLEGAL_PARAMETER
        }
        // RFC 8446 §4.4.3: "If the verification fails, the receiver MUST terminate the handshake
        // with a decrypt_error alert."
        Error::InvalidSignatureForPublicKey => AlertDescription::DECRYPT_ERROR,
        other => of_certificate(other),
    };
    reject(alert, format!("CertificateVerify: {}", words(error)))
}

/// Describes common errors in plain words; for others uses webpki's name.
pub(crate) fn words(error: &Error) -> String {
    let words = match error {
        Error::UnknownIssuer => "no trusted root issued it",
        Error::CertExpired { .. } => "it has expired",
        Error::CertNotValidYet { .. } => "it is not valid yet",
        Error::InvalidCertValidity => "it expires before it becomes valid",
        // RFC 9525 §2: the common name doesn't name a server.
        Error::CertNotValidForName(context) if context.presented.is_empty() => {
            "it names no server: names must be in subjectAltName, and the common name (CN) does not count"
        }
        Error::CertNotValidForName(context) => {
            return format!("it is for other names: {}", names(&context.presented));
        }
        Error::CertRevoked => "it was revoked",
        Error::UnknownRevocationStatus => "no revocation list covers it",
        Error::CaUsedAsEndEntity => "it is an authority's own",
        Error::EmptyEkuExtension | Error::RequiredEkuNotFoundContext(_) => "it is for other uses",
        Error::InvalidSignatureForPublicKey => "a signature is wrong",
        Error::UnsupportedSignatureAlgorithmContext(_) => "a signature algorithm is not accepted",
        Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            "a signature algorithm does not fit the key"
        }
        Error::CrlExpired { .. } => "the revocation list that covers it is out of date",
        Error::InvalidCrlSignatureForPublicKey => {
            "the revocation list that covers it is not signed by its issuer"
        }
        Error::IssuerNotCrlSigner => "its issuer may not sign revocation lists",
        Error::BadDer | Error::TrailingData(_) => "it is malformed",
        other => return format!("{other}"),
    };
    words.into()
}

/// Formats the names of a certificate, which webpki presents as `DnsName("a.example")`.
fn names(presented: &[String]) -> String {
    let mut names: Vec<_> =
        presented.iter().take(MOST_NAMES).map(|name| shown(&canonical(inner(name)))).collect();
    if presented.len() > MOST_NAMES {
        names.push(format!("{} more", presented.len() - MOST_NAMES));
    }
    names.join(", ")
}

/// Formats an IPv6 address as RFC 5952 does: webpki writes `0::1`.
fn canonical(name: &str) -> String {
    name.parse::<Ipv6Addr>().map_or_else(|_| name.into(), |address| format!("{address}"))
}

fn inner(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    inner.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(inner)
}

/// Makes a name safe to display: a peer may have put anything into it.
fn shown(name: &str) -> String {
    let mut shown: String = name.chars().take(LONGEST_NAME).flat_map(char::escape_debug).collect();
    if name.chars().nth(LONGEST_NAME).is_some() {
        shown.push_str("...");
    }
    shown
}

/// How many names of a certificate are shown.
const MOST_NAMES: usize = 5;

/// How many characters of a name are shown.
const LONGEST_NAME: usize = 64;

fn of_certificate(error: &Error) -> AlertDescription {
    match error {
        // "has expired or is not currently valid"
        Error::CertExpired { .. } | Error::CertNotValidYet { .. } => {
            AlertDescription::CERTIFICATE_EXPIRED
        }
        Error::CertRevoked => AlertDescription::CERTIFICATE_REVOKED,
        Error::UnknownIssuer => AlertDescription::UNKNOWN_CA,
        // A certificate of a type that cannot be used here.
        Error::CaUsedAsEndEntity
        | Error::EmptyEkuExtension
        | Error::RequiredEkuNotFoundContext(_)
        | Error::UnsupportedCertVersion
        | Error::UnsupportedCriticalExtension
        | Error::UnsupportedNameType
        | Error::UnsupportedSignatureAlgorithmContext(_)
        | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            AlertDescription::UNSUPPORTED_CERTIFICATE
        }
        // The certificate itself is fine: its status is unknown, or the local revocation list is unusable.
        Error::CertDistrusted
        | Error::UnknownRevocationStatus
        | Error::CrlExpired { .. }
        | Error::InvalidCrlNumber
        | Error::InvalidCrlSignatureForPublicKey
        | Error::IssuerNotCrlSigner
        | Error::UnsupportedCrlIssuingDistributionPoint
        | Error::UnsupportedCrlSignatureAlgorithmContext(_)
        | Error::UnsupportedCrlSignatureAlgorithmForPublicKeyContext(_)
        | Error::UnsupportedCrlVersion
        | Error::UnsupportedDeltaCrl
        | Error::UnsupportedIndirectCrl
        | Error::UnsupportedRevocationReason
        | Error::UnsupportedRevocationReasonsPartitioning => AlertDescription::CERTIFICATE_UNKNOWN,
        // "was corrupt, contained signatures that did not verify correctly, etc.": malformed DER,
        // wrong names, broken constraints, chains too long to search.
        _ => AlertDescription::BAD_CERTIFICATE,
    }
}
