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
use crate::key_usage;

/// The signature algorithms of a verifier.
#[derive(Debug, Clone, Copy)]
pub struct Algorithms {
    /// For CertificateVerify: each scheme with the one algorithm that it stands for, in order of
    /// preference. In TLS 1.3 an ECDSA scheme names its curve (RFC 8446 §4.2.3), so each scheme
    /// has exactly one.
    pub handshake: &'static [(SignatureScheme, &'static dyn SignatureVerificationAlgorithm)],
    /// For the signatures in certificates and revocation lists.
    pub chain: &'static [&'static dyn SignatureVerificationAlgorithm],
    /// Schemes to offer for chains only, after those of `handshake`. signature_algorithms speaks for
    /// certificates too (RFC 8446 §4.2.3), so a peer may hold back a chain that it does not allow.
    /// Only where `chain` lacks an algorithm of `handshake` the two are offered apart.
    pub chain_schemes: &'static [SignatureScheme],
}

#[cfg(feature = "aws-lc")]
impl Algorithms {
    /// AWS-LC's algorithms: ECDSA on P-256 and P-384, Ed25519, RSA from 2048 bits, ML-DSA-44 and
    /// ML-DSA-65.
    ///
    /// ML-DSA stands last: a signature of today's handshake cannot be forged later, so a peer with
    /// both kinds of certificate spares the handshake some ten kilobytes.
    pub const AWS_LC: Self = Self {
        handshake: &[
            (SignatureScheme::ECDSA_SECP256R1_SHA256, aws_lc::ECDSA_P256_SHA256),
            (SignatureScheme::ED25519, aws_lc::ED25519),
            (SignatureScheme::ECDSA_SECP384R1_SHA384, aws_lc::ECDSA_P384_SHA384),
            (SignatureScheme::RSA_PSS_RSAE_SHA256, aws_lc::RSA_PSS_2048_8192_SHA256_LEGACY_KEY),
            (SignatureScheme::RSA_PSS_RSAE_SHA384, aws_lc::RSA_PSS_2048_8192_SHA384_LEGACY_KEY),
            (SignatureScheme::RSA_PSS_RSAE_SHA512, aws_lc::RSA_PSS_2048_8192_SHA512_LEGACY_KEY),
            (SignatureScheme::MLDSA44, aws_lc::ML_DSA_44),
            (SignatureScheme::MLDSA65, aws_lc::ML_DSA_65),
        ],
        // Certificates also pair a curve with another hash, and are found so in the wild.
        chain: &[
            aws_lc::ECDSA_P256_SHA256,
            aws_lc::ECDSA_P256_SHA384,
            aws_lc::ECDSA_P384_SHA256,
            aws_lc::ECDSA_P384_SHA384,
            aws_lc::ED25519,
            aws_lc::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
            aws_lc::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
            aws_lc::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
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
    /// The schemes for handshakes.
    pub(crate) fn handshake_schemes(&self) -> Result<Vec<SignatureScheme>, ConfigError> {
        let schemes: Vec<_> = self.handshake.iter().map(|(scheme, _)| *scheme).collect();
        if !schemes.iter().all(|scheme| scheme.signs_handshakes()) {
            return Err(ConfigError::HandshakeScheme);
        }
        Ok(schemes)
    }

    /// The schemes for signature_algorithms_cert: none where the schemes for handshakes, followed by
    /// those for chains only, say as much (RFC 8446 §4.2.3).
    pub(crate) fn chain_schemes(&self) -> impl Iterator<Item = SignatureScheme> + '_ {
        let signs_chains = |algorithm: &dyn SignatureVerificationAlgorithm| {
            self.chain.iter().any(|other| {
                other.signature_alg_id() == algorithm.signature_alg_id()
                    && other.public_key_alg_id() == algorithm.public_key_alg_id()
            })
        };
        let narrower = !self.handshake.iter().all(|(_, algorithm)| signs_chains(*algorithm));
        let shared = self.handshake.iter().filter(move |(_, algorithm)| signs_chains(*algorithm));
        let shared = shared.map(|(scheme, _)| *scheme);
        shared.chain(self.chain_schemes.iter().copied()).filter(move |_| narrower)
    }

    /// Adds the algorithms for handshakes, and those for chains, to a policy, by their identifiers.
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

    /// Checks a CertificateVerify with the end entity's key, if its key usage allows that, or with the
    /// raw public key, and nothing else: for owners that know the certificate or the key itself. For
    /// chains use [`WebPkiVerifier`](crate::WebPkiVerifier).
    pub fn verify_signature(&self, question: &VerifyPeer) -> Result<(), PeerRejected> {
        let signature = Signature::of(question, self)?;
        let der = question.chain.first();
        let der = der.ok_or_else(|| reject(AlertDescription::DECODE_ERROR, "no certificate"))?;
        let verified = if question.certificate_type == CertificateType::RAW_PUBLIC_KEY {
            let der = SubjectPublicKeyInfoDer::from(der.as_slice());
            let key = RawPublicKeyEntity::try_from(&der).map_err(|_| {
                reject(AlertDescription::DECODE_ERROR, "what came is no SubjectPublicKeyInfo")
            })?;
            key.verify_signature(signature.algorithm, signature.signed, signature.bytes)
        } else {
            let der = CertificateDer::from(der.as_slice());
            let end_entity = EndEntityCert::try_from(&der).map_err(|e| alerts::certificate(&e))?;
            key_usage::check(&der)?;
            end_entity.verify_signature(signature.algorithm, signature.signed, signature.bytes)
        };
        verified.map_err(|e| alerts::certificate_verify(&e))
    }

    /// The algorithm that a scheme stands for in CertificateVerify; it must be one of those that were
    /// offered for handshakes (RFC 8446 §4.4.3).
    fn for_handshake(
        &self,
        scheme: SignatureScheme,
    ) -> Result<&'static dyn SignatureVerificationAlgorithm, PeerRejected> {
        let found = self.handshake.iter().find(|(known, _)| *known == scheme);
        found.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
            reject(AlertDescription::ILLEGAL_PARAMETER, "CertificateVerify: scheme not offered")
        })
    }
}

/// A signature that is to be checked, with the algorithm for it.
pub(crate) struct Signature<'a> {
    pub(crate) algorithm: &'static dyn SignatureVerificationAlgorithm,
    pub(crate) signed: &'a [u8],
    pub(crate) bytes: &'a [u8],
}

impl<'a> Signature<'a> {
    /// The signature of a question. A peer with another proof is rejected.
    pub(crate) fn of(
        question: &'a VerifyPeer,
        algorithms: &Algorithms,
    ) -> Result<Self, PeerRejected> {
        let Proof::Signature { scheme, signed, signature } = &question.proof else {
            let reason = "the peer's proof is no signature";
            return Err(reject(AlertDescription::UNSUPPORTED_CERTIFICATE, reason));
        };
        Ok(Self { algorithm: algorithms.for_handshake(*scheme)?, signed, bytes: signature })
    }
}
