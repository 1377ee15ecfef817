//! The trust anchors of a verifier.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

use der::asn1::{AnyRef, BitStringRef};
use der::{Decode, Reader, SliceReader, Tag, Tagged};
use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use tessera::auth::{PeerRejected, VerifierPolicy};
use tessera::wire::AlertDescription;
use webpki::{EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert};

use crate::alerts::{self, reject};
use crate::error::ConfigError;
use crate::extensions;

/// The certificates that a verifier trusts.
///
/// Each vouches for itself: a peer that presents it, byte for byte, is accepted. It vouches for other
/// certificates only if it is an authority's. webpki uses only the name and the key of an anchor, so without
/// this rule the owner of a trusted server certificate, such as Debian's `ssl-cert-snakeoil.pem`, could
/// impersonate any peer.
pub(crate) struct Anchors {
    issuers: Vec<TrustAnchor<'static>>,
    subjects: Vec<Vec<u8>>,
    certificates: Vec<Vec<u8>>,
}

impl Anchors {
    pub(crate) fn new<T: AsRef<[u8]>>(roots: &[T]) -> Result<Self, ConfigError> {
        let mut anchors =
            Self { issuers: Vec::new(), subjects: Vec::new(), certificates: Vec::new() };
        for root in roots {
            let der = CertificateDer::from(root.as_ref());
            let anchor = anchor_from_trusted_cert(&der)
                .map_err(|error| ConfigError::Root(alerts::words(&error)))?;
            anchors.subjects.push(anchor.subject.to_vec());
            anchors.certificates.push(der.to_vec());
            if may_issue(&der).map_err(|error| ConfigError::Root(error.to_string()))? {
                anchors.issuers.push(anchor.to_owned());
            }
        }
        if anchors.certificates.is_empty() {
            return Err(ConfigError::NoRoots);
        }
        Ok(anchors)
    }

    /// Returns those that vouch for others.
    pub(crate) fn issuers(&self) -> &[TrustAnchor<'static>] {
        &self.issuers
    }

    /// Returns the names of all, each as the contents of a Name.
    pub(crate) fn subjects(&self) -> &[Vec<u8>] {
        &self.subjects
    }

    pub(crate) fn contain(&self, certificate: &CertificateDer<'_>) -> bool {
        self.certificates.iter().any(|own| own == certificate.as_ref())
    }

    /// Whether a revocation list of this issuer (the contents of a Name) may be valid: an anchor of that name
    /// signed it, or its issuer's key isn't known here.
    pub(crate) fn may_have_signed(
        &self,
        issuer: &[u8],
        list: &[u8],
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> bool {
        let named = self.subjects.iter().zip(&self.certificates);
        let mut named = named.filter(|(subject, _)| *subject == issuer).peekable();
        if named.peek().is_none() {
            return true;
        }
        named.any(|(_, certificate)| {
            let certificate = CertificateDer::from(certificate.as_slice());
            // An anchor that webpki can't parse, such as one of version 1, is still an anchor, and may have signed.
            EndEntityCert::try_from(&certificate).map_or(true, |anchor| {
                let signed = |one: &&dyn SignatureVerificationAlgorithm| {
                    has_signed(&anchor, *one, list).unwrap_or(false)
                };
                algorithms.iter().any(signed)
            })
        })
    }

    /// Returns what each trust anchor vouches for: itself, and others by its name, key and constraints (RFC
    /// 5280 §6.1.1), all of which it contains.
    pub(crate) fn policies(&self) -> impl Iterator<Item = VerifierPolicy> {
        self.certificates.iter().map(|der| VerifierPolicy::new("anchor").with(der))
    }
}

/// Whether a CertificateList (RFC 5280 §5.1) is signed with this key and algorithm.
fn has_signed(
    anchor: &EndEntityCert<'_>,
    algorithm: &dyn SignatureVerificationAlgorithm,
    list: &[u8],
) -> der::Result<bool> {
    let mut fields = SliceReader::new(AnyRef::from_der(list)?.value())?;
    let signed = fields.tlv_bytes()?;
    let named = AnyRef::decode(&mut fields)?;
    let signature = BitStringRef::decode(&mut fields)?;
    let signature = signature.as_bytes().unwrap_or_default();
    Ok(named.value() == algorithm.signature_alg_id().as_ref()
        && anchor.verify_signature(algorithm, signed, signature).is_ok())
}

/// Judges a peer's certificate that is itself an anchor: it needs no path, but must be valid now, and for
/// this use. Whether it is also an authority's doesn't matter.
pub(crate) fn check_own(
    certificate: &EndEntityCert<'_>,
    der: &[u8],
    algorithms: &[&dyn SignatureVerificationAlgorithm],
    unix: u64,
    server: bool,
) -> Result<(), PeerRejected> {
    let now = UnixTime::since_unix_epoch(Duration::from_secs(unix));
    let (usage, purpose) = match server {
        true => (KeyUsage::server_auth(), SERVER_AUTH),
        false => (KeyUsage::client_auth(), CLIENT_AUTH),
    };
    // webpki looks for an issuer last, and there is none: that error means that everything else is fine.
    match certificate.verify_for_usage(algorithms, &[], &[], now, usage, None, None) {
        Err(Error::UnknownIssuer) => Ok(()),
        // webpki stops here, so check the extended key usage.
        Err(Error::CaUsedAsEndEntity) => match allows(der, purpose) {
            Ok(true) => Ok(()),
            Ok(false) => Err(reject(
                AlertDescription::UNSUPPORTED_CERTIFICATE,
                "certificate: it is for other uses",
            )),
            Err(_) => Err(reject(
                AlertDescription::BAD_CERTIFICATE,
                "certificate: its extensions are malformed",
            )),
        },
        Err(error) => Err(alerts::certificate(&error)),
        Ok(_) => Ok(()),
    }
}

/// Returns whether a certificate may issue others. RFC 5280 §4.2.1.9: without the extension, or without the
/// boolean in it, a key must not verify certificates. Version 1 has no extensions: trusting one is the
/// owner's decision.
fn may_issue(certificate: &[u8]) -> der::Result<bool> {
    if extensions::is_version_1(certificate)? {
        return Ok(true);
    }
    let mut is_authority = false;
    for constraints in extensions::values(certificate, BASIC_CONSTRAINTS)? {
        let mut fields = SliceReader::new(AnyRef::from_der(constraints)?.value())?;
        is_authority = Option::<bool>::decode(&mut fields)?.unwrap_or_default();
        if !is_authority {
            break;
        }
    }
    Ok(is_authority)
}

/// Returns whether a certificate allows this purpose. RFC 5280 §4.2.1.12: an extended key usage restricts
/// it to its list.
fn allows(certificate: &[u8], purpose: &[u8]) -> der::Result<bool> {
    for usage in extensions::values(certificate, EXTENDED_KEY_USAGE)? {
        let mut purposes = SliceReader::new(AnyRef::from_der(usage)?.value())?;
        let mut found = false;
        while !purposes.is_finished() {
            let id = AnyRef::decode(&mut purposes)?;
            found |= id.tag() == Tag::ObjectIdentifier && id.value() == purpose;
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

/// id-ce-basicConstraints, 2.5.29.19.
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];

/// id-ce-extKeyUsage, 2.5.29.37.
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];

/// id-kp-serverAuth, 1.3.6.1.5.5.7.3.1.
const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];

/// id-kp-clientAuth, 1.3.6.1.5.5.7.3.2.
const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
