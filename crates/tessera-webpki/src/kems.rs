//! KEMs in place of signatures (docs/kem-auth.md), and their public keys in certificates.

use alloc::vec::Vec;

use der::asn1::{AnyRef, BitStringRef};
use der::{Decode, Reader, SliceReader, Tag, Tagged};
use pki_types::CertificateDer;
use tessera::auth::{AskedKey, PeerPublicKey, PeerRejected, VerifierPolicy};
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};
use webpki::EndEntityCert;

use crate::alerts::reject;
use crate::error::ConfigError;
use crate::key_usage::KeyUse;

/// A KEM whose public keys have a form in certificates.
#[derive(Debug)]
pub(crate) struct Kem {
    pub(crate) scheme: SignatureScheme,
    /// The contents of a key's AlgorithmIdentifier: the identifier alone, without parameters.
    algorithm: &'static [u8],
    /// How a certificate's key usage must allow it.
    pub(crate) key_use: KeyUse,
}

static KEMS: [Kem; 4] = [
    Kem::new(SignatureScheme::KEM_MLKEM512, KeyUse::Encipherment),
    Kem::new(SignatureScheme::KEM_MLKEM768, KeyUse::Encipherment),
    Kem::new(SignatureScheme::KEM_MLKEM1024, KeyUse::Encipherment),
    Kem::new(SignatureScheme::KEM_X25519, KeyUse::Agreement),
];

impl Kem {
    const fn new(scheme: SignatureScheme, key_use: KeyUse) -> Self {
        let algorithm = scheme.kem_key_algorithm().expect("its keys have a form");
        Self { scheme, algorithm, key_use }
    }

    /// Returns the key in this SubjectPublicKeyInfo, if it is one of this KEM. The engine checks the key itself.
    pub(crate) fn public_key(&self, info: &[u8]) -> Result<PeerPublicKey, PeerRejected> {
        let malformed = || {
            reject(AlertDescription::BAD_CERTIFICATE, "certificate: its public key is malformed")
        };
        let (algorithm, key) = parts(info).map_err(|_| malformed())?;
        if !algorithm.starts_with(self.algorithm) {
            let reason = "certificate: its public key is not of the KEM";
            return Err(reject(AlertDescription::UNSUPPORTED_CERTIFICATE, reason));
        }
        // RFC 9935 §3, RFC 8410 §3: there are no parameters.
        match key.as_bytes() {
            Some(key) if algorithm == self.algorithm => {
                Ok(PeerPublicKey::new(self.scheme, key.to_vec()))
            }
            _ => Err(malformed()),
        }
    }
}

/// Returns the key of a KEM in a SubjectPublicKeyInfo (DER): for clients that know a server's key (docs/kem-auth.md §9), and
/// for verifiers of one's own, which return it
/// ([`PeerAcceptance::with_public_key`](tessera::auth::PeerAcceptance::with_public_key)). `None` if it is of another kind,
/// or malformed.
pub fn kem_public_key(info: &[u8]) -> Option<PeerPublicKey> {
    kem_of_key(info)?.public_key(info).ok()
}

/// Returns the key of a KEM in a certificate (DER), as [`kem_public_key`]. Judges nothing else of the certificate.
pub fn kem_public_key_of_certificate(certificate: &[u8]) -> Option<PeerPublicKey> {
    let der = CertificateDer::from(certificate);
    kem_public_key(&EndEntityCert::try_from(&der).ok()?.subject_public_key_info())
}

/// Returns the KEM of the end entity's key, accepted or not.
pub(crate) fn kem_of(asked: &AskedKey<'_>) -> Option<&'static Kem> {
    let first = asked.chain.first()?;
    if asked.certificate_type == CertificateType::RAW_PUBLIC_KEY {
        return kem_of_key(first);
    }
    kem_of_certificate(&CertificateDer::from(first.as_slice()))
}

/// The same of a certificate's.
pub(crate) fn kem_of_certificate(certificate: &CertificateDer<'_>) -> Option<&'static Kem> {
    kem_of_key(&EndEntityCert::try_from(certificate).ok()?.subject_public_key_info())
}

/// Returns the KEM of the key in a SubjectPublicKeyInfo. Its parameters don't count: it is no other's key with wrong ones.
fn kem_of_key(info: &[u8]) -> Option<&'static Kem> {
    let (algorithm, _) = parts(info).ok()?;
    KEMS.iter().find(|kem| algorithm.starts_with(kem.algorithm))
}

/// Returns the contents of the AlgorithmIdentifier in a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7), and the key.
fn parts(info: &[u8]) -> der::Result<(&[u8], BitStringRef<'_>)> {
    let mut fields = SliceReader::new(contents(AnyRef::from_der(info)?)?)?;
    let algorithm = contents(AnyRef::decode(&mut fields)?)?;
    let key = BitStringRef::decode(&mut fields)?;
    fields.finish()?;
    Ok((algorithm, key))
}

/// Returns the contents of a SEQUENCE.
fn contents(sequence: AnyRef<'_>) -> der::Result<&[u8]> {
    sequence.tag().assert_eq(Tag::Sequence)?;
    Ok(sequence.value())
}

/// The KEMs that a verifier accepts.
#[derive(Debug, Default)]
pub(crate) struct AcceptedKems(Vec<&'static Kem>);

impl AcceptedKems {
    /// Accepts these too, and returns those that are new. An empty list is an error, and so is a scheme without a form in
    /// certificates.
    pub(crate) fn add(
        &mut self,
        schemes: &[SignatureScheme],
    ) -> Result<Vec<SignatureScheme>, ConfigError> {
        if schemes.is_empty() {
            return Err(ConfigError::Kem);
        }
        let mut added = Vec::new();
        for scheme in schemes {
            let kem = KEMS.iter().find(|kem| kem.scheme == *scheme).ok_or(ConfigError::Kem)?;
            if self.find(*scheme).is_none() {
                self.0.push(kem);
                added.push(*scheme);
            }
        }
        Ok(added)
    }

    pub(crate) fn find(&self, scheme: SignatureScheme) -> Option<&'static Kem> {
        self.0.iter().copied().find(|kem| kem.scheme == scheme)
    }

    /// Adds them to a policy, which stays as it is without any: sessions survive.
    pub(crate) fn add_to(&self, policy: VerifierPolicy) -> VerifierPolicy {
        if self.0.is_empty() {
            return policy;
        }
        policy.with(b"KEMs").with_set(self.0.iter().map(|kem| kem.scheme.0.to_be_bytes()))
    }
}
