//! Keys restricted to RSASSA-PSS (id-RSASSA-PSS, RFC 4055 §1.2). webpki's own algorithms only accept
//! rsaEncryption keys. The signatures are the same; only the key's AlgorithmIdentifier in the certificate
//! differs.

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use webpki::aws_lc_rs as aws_lc;

/// With SHA-256, and a key without parameters, which signs with any hash.
pub(crate) const SHA256: &dyn SignatureVerificationAlgorithm =
    &PssKey { key: ANY_HASH, signature: aws_lc::RSA_PSS_2048_8192_SHA256_LEGACY_KEY };

/// With SHA-384, and a key without parameters.
pub(crate) const SHA384: &dyn SignatureVerificationAlgorithm =
    &PssKey { key: ANY_HASH, signature: aws_lc::RSA_PSS_2048_8192_SHA384_LEGACY_KEY };

/// With SHA-512, and a key without parameters.
pub(crate) const SHA512: &dyn SignatureVerificationAlgorithm =
    &PssKey { key: ANY_HASH, signature: aws_lc::RSA_PSS_2048_8192_SHA512_LEGACY_KEY };

/// With SHA-256, and a key whose parameters are those of the signature.
pub(crate) const SHA256_ALONE: &dyn SignatureVerificationAlgorithm =
    &PssKey { key: alg_id::RSA_PSS_SHA256, signature: aws_lc::RSA_PSS_2048_8192_SHA256_LEGACY_KEY };

/// With SHA-384, and a key whose parameters are those of the signature.
pub(crate) const SHA384_ALONE: &dyn SignatureVerificationAlgorithm =
    &PssKey { key: alg_id::RSA_PSS_SHA384, signature: aws_lc::RSA_PSS_2048_8192_SHA384_LEGACY_KEY };

/// With SHA-512, and a key whose parameters are those of the signature.
pub(crate) const SHA512_ALONE: &dyn SignatureVerificationAlgorithm =
    &PssKey { key: alg_id::RSA_PSS_SHA512, signature: aws_lc::RSA_PSS_2048_8192_SHA512_LEGACY_KEY };

/// RSASSA-PSS as `signature` checks it, for keys with another AlgorithmIdentifier. RFC 4055 §1.2: the key
/// itself is an RSAPublicKey under either.
#[derive(Debug)]
struct PssKey {
    key: AlgorithmIdentifier,
    signature: &'static dyn SignatureVerificationAlgorithm,
}

impl SignatureVerificationAlgorithm for PssKey {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.signature.verify_signature(public_key, message, signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature.signature_alg_id()
    }

    fn fips(&self) -> bool {
        self.signature.fips()
    }
}

/// id-RSASSA-PSS (1.2.840.113549.1.1.10) without parameters.
const ANY_HASH: AlgorithmIdentifier = AlgorithmIdentifier::from_slice(&[
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a,
]);
