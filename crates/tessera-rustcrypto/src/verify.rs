//! The signature algorithms, in the form that `tessera_webpki::Algorithms` has.

use pki_types::SignatureVerificationAlgorithm;
use tessera::wire::SignatureScheme;

#[cfg(feature = "ecdsa")]
use crate::ecdsa::EcdsaP256Sha256;
#[cfg(feature = "ed25519")]
use crate::ed25519::Ed25519;
#[cfg(feature = "falcon-pre-standard")]
use crate::falcon::FalconPreStandard;
#[cfg(feature = "ml-dsa")]
use crate::ml_dsa::MlDsaPure;
#[cfg(feature = "rsa")]
use crate::rsa::{RsaPkcs1Sha256, RsaPssSha256};

/// For `Algorithms::handshake`, and for `tessera_fixed_pki::FixedPkiVerifier`: each scheme with its algorithm, in order of
/// preference. What is post-quantum comes last: a signature in today's handshake can't be forged later, so a peer with both
/// kinds of certificate saves ten kilobytes.
pub static HANDSHAKE_ALGORITHMS: &[(
    SignatureScheme,
    &'static dyn SignatureVerificationAlgorithm,
)] = &[
    #[cfg(feature = "ecdsa")]
    (SignatureScheme::ECDSA_SECP256R1_SHA256, &EcdsaP256Sha256),
    #[cfg(feature = "ed25519")]
    (SignatureScheme::ED25519, &Ed25519),
    #[cfg(feature = "rsa")]
    (SignatureScheme::RSA_PSS_RSAE_SHA256, &RsaPssSha256),
    #[cfg(feature = "ml-dsa")]
    (SignatureScheme::MLDSA44, &MlDsaPure::ML_DSA_44),
    #[cfg(feature = "ml-dsa-65")]
    (SignatureScheme::MLDSA65, &MlDsaPure::ML_DSA_65),
    #[cfg(feature = "ml-dsa-87")]
    (SignatureScheme::MLDSA87, &MlDsaPure::ML_DSA_87),
    #[cfg(feature = "falcon-pre-standard")]
    (SignatureScheme::FALCON512_PRE_STANDARD, &FalconPreStandard::FALCON_512),
    #[cfg(feature = "falcon-pre-standard")]
    (SignatureScheme::FALCON1024_PRE_STANDARD, &FalconPreStandard::FALCON_1024),
];

/// For `Algorithms::chain`: the same algorithms, and RSASSA-PKCS1-v1_5, which signs certificates alone (RFC 8446 §4.2.3).
pub static CHAIN_ALGORITHMS: &[&'static dyn SignatureVerificationAlgorithm] = &[
    #[cfg(feature = "ecdsa")]
    &EcdsaP256Sha256,
    #[cfg(feature = "ed25519")]
    &Ed25519,
    #[cfg(feature = "rsa")]
    &RsaPssSha256,
    #[cfg(feature = "rsa")]
    &RsaPkcs1Sha256,
    #[cfg(feature = "ml-dsa")]
    &MlDsaPure::ML_DSA_44,
    #[cfg(feature = "ml-dsa-65")]
    &MlDsaPure::ML_DSA_65,
    #[cfg(feature = "ml-dsa-87")]
    &MlDsaPure::ML_DSA_87,
    #[cfg(feature = "falcon-pre-standard")]
    &FalconPreStandard::FALCON_512,
    #[cfg(feature = "falcon-pre-standard")]
    &FalconPreStandard::FALCON_1024,
];

/// For `Algorithms::chain_schemes`: those of [`CHAIN_ALGORITHMS`] that sign no handshakes.
pub static CHAIN_SCHEMES: &[SignatureScheme] = &[
    #[cfg(feature = "rsa")]
    SignatureScheme::RSA_PKCS1_SHA256,
];
