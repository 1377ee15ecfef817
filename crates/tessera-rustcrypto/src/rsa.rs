//! Verifies RSASSA-PSS and RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8).

use core::ops::RangeInclusive;

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use rsa::pkcs1::DecodeRsaPublicKey;
use rsa::signature::Verifier;
use rsa::traits::PublicKeyParts;
use rsa::{PublicKey, pkcs1v15, pss};
use sha2::Sha256;

/// Of the modulus, in bits: NIST SP 800-131A allows none that is shorter, and one that is longer takes more heap than
/// devices plan for.
const SIZES: RangeInclusive<u32> = 2048..=4096;

/// Of handshakes, and of certificates (RFC 8446 §4.2.3): the salt is as long as the hash.
#[derive(Debug)]
pub(crate) struct RsaPssSha256;

/// Of certificates alone (RFC 8446 §4.2.3).
#[derive(Debug)]
pub(crate) struct RsaPkcs1Sha256;

/// Reads an RSAPublicKey (RFC 8017 §A.1.1). The crate refuses even moduli, and exponents that are even, less than 3, or of
/// more than 33 bits.
fn public_key(der: &[u8]) -> Result<PublicKey, InvalidSignature> {
    let key = PublicKey::from_pkcs1_der(der).map_err(|_| InvalidSignature)?;
    let is_accepted = SIZES.contains(&key.n().bit_width());
    is_accepted.then_some(key).ok_or(InvalidSignature)
}

impl SignatureVerificationAlgorithm for RsaPssSha256 {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = pss::VerifyingKey::<Sha256>::new(self::public_key(public_key)?);
        let signature = pss::Signature::try_from(signature).map_err(|_| InvalidSignature)?;
        key.verify(message, &signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_ENCRYPTION
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_PSS_SHA256
    }
}

impl SignatureVerificationAlgorithm for RsaPkcs1Sha256 {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = pkcs1v15::VerifyingKey::<Sha256>::new(self::public_key(public_key)?);
        let signature = pkcs1v15::Signature::try_from(signature).map_err(|_| InvalidSignature)?;
        key.verify(message, &signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_ENCRYPTION
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_PKCS1_SHA256
    }
}
