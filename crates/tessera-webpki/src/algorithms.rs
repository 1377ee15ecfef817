//! Which signature algorithms are accepted, and where.

use alloc::vec::Vec;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use tessera::auth::{PeerRejected, Proof, VerifierPolicy, VerifyPeer};
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};
#[cfg(feature = "aws-lc")]
use webpki::aws_lc_rs as aws_lc;
use webpki::{EndEntityCert, RawPublicKeyEntity};

use crate::alerts::{self, reject};
use crate::error::ConfigError;
use crate::key_usage::{self, KeyUse};
#[cfg(feature = "aws-lc")]
use crate::pss_key;

/// The signature algorithms of a verifier.
#[derive(Debug, Clone, Copy)]
pub struct Algorithms {
    /// For CertificateVerify: each scheme with its algorithm, in order of preference. In TLS 1.3 an ECDSA
    /// scheme names its curve (RFC 8446 §4.2.3), so it has exactly one. A scheme for several forms of keys is
    /// listed once with each.
    pub handshake: &'static [(SignatureScheme, &'static dyn SignatureVerificationAlgorithm)],
    /// For the signatures in certificates and revocation lists.
    pub chain: &'static [&'static dyn SignatureVerificationAlgorithm],
    /// Schemes to offer for chains only, after those of `handshake`. signature_algorithms covers certificates
    /// too (RFC 8446 §4.2.3), so a peer may hold back a chain that it does not allow. The two are offered
    /// separately only if `chain` lacks an algorithm of `handshake`.
    pub chain_schemes: &'static [SignatureScheme],
}

#[cfg(feature = "aws-lc")]
impl Algorithms {
    /// AWS-LC's algorithms: ECDSA on P-256, P-384 and P-521, Ed25519, RSA from 2048 bits with general keys or
    /// keys restricted to RSASSA-PSS, ML-DSA-44 and ML-DSA-65.
    ///
    /// A key restricted to RSASSA-PSS (RFC 4055) has either no parameters, or those of TLS 1.3's signatures:
    /// one hash, MGF1 with the same hash, and a salt of its length.
    ///
    /// ML-DSA comes last: a signature in today's handshake can't be forged later, so a peer with both kinds
    /// of certificate saves the handshake some ten kilobytes.
    pub const AWS_LC: Self = Self {
        handshake: &[
            (SignatureScheme::ECDSA_SECP256R1_SHA256, aws_lc::ECDSA_P256_SHA256),
            (SignatureScheme::ED25519, aws_lc::ED25519),
            (SignatureScheme::ECDSA_SECP384R1_SHA384, aws_lc::ECDSA_P384_SHA384),
            (SignatureScheme::RSA_PSS_RSAE_SHA256, aws_lc::RSA_PSS_2048_8192_SHA256_LEGACY_KEY),
            (SignatureScheme::RSA_PSS_RSAE_SHA384, aws_lc::RSA_PSS_2048_8192_SHA384_LEGACY_KEY),
            (SignatureScheme::RSA_PSS_RSAE_SHA512, aws_lc::RSA_PSS_2048_8192_SHA512_LEGACY_KEY),
            // Slow and rare, so after the common ones.
            (SignatureScheme::ECDSA_SECP521R1_SHA512, aws_lc::ECDSA_P521_SHA512),
            (SignatureScheme::RSA_PSS_PSS_SHA256, pss_key::SHA256),
            (SignatureScheme::RSA_PSS_PSS_SHA256, pss_key::SHA256_ALONE),
            (SignatureScheme::RSA_PSS_PSS_SHA384, pss_key::SHA384),
            (SignatureScheme::RSA_PSS_PSS_SHA384, pss_key::SHA384_ALONE),
            (SignatureScheme::RSA_PSS_PSS_SHA512, pss_key::SHA512),
            (SignatureScheme::RSA_PSS_PSS_SHA512, pss_key::SHA512_ALONE),
            (SignatureScheme::MLDSA44, aws_lc::ML_DSA_44),
            (SignatureScheme::MLDSA65, aws_lc::ML_DSA_65),
        ],
        // Certificates in the wild also pair a curve with another hash.
        chain: &[
            aws_lc::ECDSA_P256_SHA256,
            aws_lc::ECDSA_P256_SHA384,
            aws_lc::ECDSA_P384_SHA256,
            aws_lc::ECDSA_P384_SHA384,
            aws_lc::ECDSA_P521_SHA256,
            aws_lc::ECDSA_P521_SHA384,
            aws_lc::ECDSA_P521_SHA512,
            aws_lc::ED25519,
            aws_lc::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
            aws_lc::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
            aws_lc::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
            pss_key::SHA256,
            pss_key::SHA384,
            pss_key::SHA512,
            pss_key::SHA256_ALONE,
            pss_key::SHA384_ALONE,
            pss_key::SHA512_ALONE,
            aws_lc::RSA_PKCS1_2048_8192_SHA256,
            aws_lc::RSA_PKCS1_2048_8192_SHA384,
            aws_lc::RSA_PKCS1_2048_8192_SHA512,
            aws_lc::ML_DSA_44,
            aws_lc::ML_DSA_65,
        ],
        chain_schemes: &[
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
        ],
    };
}

impl Algorithms {
    /// Returns the schemes for handshakes.
    pub(crate) fn handshake_schemes(&self) -> Result<Vec<SignatureScheme>, ConfigError> {
        let mut schemes = Vec::new();
        for (scheme, _) in self.handshake {
            push_new(&mut schemes, *scheme);
        }
        if schemes.is_empty() {
            return Err(ConfigError::NoHandshakeSchemes);
        }
        if !schemes.iter().all(|scheme| scheme.signs_handshakes()) {
            return Err(ConfigError::HandshakeScheme);
        }
        Ok(schemes)
    }

    /// Returns the schemes for signature_algorithms_cert: none if those for handshakes, followed by those for
    /// chains only, already express them (RFC 8446 §4.2.3).
    pub(crate) fn chain_schemes(&self) -> Vec<SignatureScheme> {
        match self.handshake.iter().all(|(_, algorithm)| self.signs_chains(*algorithm)) {
            true => Vec::new(),
            false => self.all_chain_schemes(),
        }
    }

    /// Returns the schemes that certificates may be signed with.
    pub(crate) fn all_chain_schemes(&self) -> Vec<SignatureScheme> {
        let shared = self.handshake.iter().filter(|(_, algorithm)| self.signs_chains(*algorithm));
        let mut schemes = Vec::new();
        for scheme in shared.map(|(scheme, _)| scheme).chain(self.chain_schemes) {
            push_new(&mut schemes, *scheme);
        }
        schemes
    }

    fn signs_chains(&self, algorithm: &dyn SignatureVerificationAlgorithm) -> bool {
        self.chain.iter().any(|other| {
            other.signature_alg_id() == algorithm.signature_alg_id()
                && other.public_key_alg_id() == algorithm.public_key_alg_id()
        })
    }

    /// Adds the algorithms for handshakes and for chains to a policy, by their identifiers.
    pub(crate) fn add_to(
        &self,
        policy: VerifierPolicy,
        chain: &[&dyn SignatureVerificationAlgorithm],
    ) -> VerifierPolicy {
        let of = |algorithm: &dyn SignatureVerificationAlgorithm| {
            VerifierPolicy::new("algorithm")
                .with(&algorithm.public_key_alg_id())
                .with(&algorithm.signature_alg_id())
        };
        let handshake = self.handshake.iter();
        policy
            .with_set(handshake.map(|(id, algorithm)| of(*algorithm).with(&id.0.to_be_bytes())))
            .with_set(chain.iter().map(|algorithm| of(*algorithm)))
    }

    /// Returns the schemes of these algorithms that the key of a certificate (DER) signs handshakes with, in order of
    /// preference: for keys that are elsewhere.
    ///
    /// # Errors
    /// Returns an error if the certificate can't be parsed.
    pub fn schemes_for(&self, certificate: &[u8]) -> Result<Vec<SignatureScheme>, ConfigError> {
        let der = CertificateDer::from(certificate);
        let end_entity = EndEntityCert::try_from(&der).map_err(ConfigError::certificate)?;
        let mut schemes = Vec::new();
        for (scheme, algorithm) in self.handshake {
            // webpki compares the kinds before it looks at the signature, which is none.
            let is_of_another_kind = matches!(
                end_entity.verify_signature(*algorithm, &[], &[]),
                Err(webpki::Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_))
            );
            if !is_of_another_kind {
                push_new(&mut schemes, *scheme);
            }
        }
        Ok(schemes)
    }

    /// Checks only a CertificateVerify, with the end entity's key, if its key usage allows that, or with
    /// the raw public key: for owners that know the certificate or the key itself. For chains use
    /// [`WebPkiVerifier`](crate::WebPkiVerifier).
    pub fn verify_signature(&self, question: &VerifyPeer) -> Result<(), PeerRejected> {
        let signature = Signature::of(question, self)?;
        let der = question.chain.first();
        let der = der.ok_or_else(|| reject(AlertDescription::DECODE_ERROR, "no certificate"))?;
        if question.certificate_type == CertificateType::RAW_PUBLIC_KEY {
            return signature.verify_by_key(der);
        }
        let der = CertificateDer::from(der.as_slice());
        let end_entity = EndEntityCert::try_from(&der).map_err(|e| alerts::certificate(&e))?;
        key_usage::check(&der, KeyUse::Signing)?;
        signature.verify_by_certificate(&end_entity)
    }
}

/// Adds a scheme unless it is already listed.
fn push_new(schemes: &mut Vec<SignatureScheme>, scheme: SignatureScheme) {
    if !schemes.contains(&scheme) {
        schemes.push(scheme);
    }
}

/// A signature to check, with the algorithms of its scheme.
pub(crate) struct Signature<'a> {
    scheme: SignatureScheme,
    /// Those of its scheme verify it.
    algorithms: &'static [(SignatureScheme, &'static dyn SignatureVerificationAlgorithm)],
    signed: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Signature<'a> {
    /// Returns the signature of a question. Rejects a peer with another kind of proof, and a scheme that was
    /// not offered for handshakes (RFC 8446 §4.4.3).
    pub(crate) fn of(
        question: &'a VerifyPeer,
        algorithms: &Algorithms,
    ) -> Result<Self, PeerRejected> {
        let Proof::Signature { scheme, signed, signature } = &question.proof else {
            let reason = "the peer's proof is not a signature";
            return Err(reject(AlertDescription::UNSUPPORTED_CERTIFICATE, reason));
        };
        let algorithms = algorithms.handshake;
        if !algorithms.iter().any(|(known, _)| known == scheme) {
            let reason = "CertificateVerify: scheme not offered";
            return Err(reject(AlertDescription::ILLEGAL_PARAMETER, reason));
        }
        Ok(Self { scheme: *scheme, algorithms, signed, bytes: signature })
    }

    /// Checks the signature with the key of a certificate.
    pub(crate) fn verify_by_certificate(
        &self,
        end_entity: &EndEntityCert<'_>,
    ) -> Result<(), PeerRejected> {
        self.verify(|algorithm, signed, bytes| {
            end_entity.verify_signature(algorithm, signed, bytes)
        })
    }

    /// Checks the signature with the key in a SubjectPublicKeyInfo (DER).
    pub(crate) fn verify_by_key(&self, info: &[u8]) -> Result<(), PeerRejected> {
        let der = SubjectPublicKeyInfoDer::from(info);
        let key = RawPublicKeyEntity::try_from(&der).map_err(|_| {
            reject(AlertDescription::DECODE_ERROR, "what came is no SubjectPublicKeyInfo")
        })?;
        self.verify(|algorithm, signed, bytes| key.verify_signature(algorithm, signed, bytes))
    }

    /// Checks the signature with the one algorithm that fits the peer's key. `check` is webpki's
    /// `verify_signature` of the key, which distinguishes a key of another kind from a wrong signature.
    fn verify(
        &self,
        check: impl Fn(
            &'static dyn SignatureVerificationAlgorithm,
            &[u8],
            &[u8],
        ) -> Result<(), webpki::Error>,
    ) -> Result<(), PeerRejected> {
        let mut result = Ok(());
        for (_, algorithm) in self.algorithms.iter().filter(|(known, _)| *known == self.scheme) {
            result = check(*algorithm, self.signed, self.bytes);
            let is_of_another_kind = matches!(
                result,
                Err(webpki::Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_))
            );
            if !is_of_another_kind {
                break;
            }
        }
        result.map_err(|error| alerts::certificate_verify(&error))
    }
}
