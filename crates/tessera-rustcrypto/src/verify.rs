//! The signature algorithms, in the form that `tessera_webpki::Algorithms` has.

use pki_types::SignatureVerificationAlgorithm;
use tessera::wire::SignatureScheme;

#[cfg(feature = "ecdsa")]
use crate::ecdsa::EcdsaP256Sha256;
#[cfg(feature = "ml-dsa")]
use crate::ml_dsa::MlDsaPure;

/// For `Algorithms::handshake`, and for `tessera_fixed_pki::FixedPkiVerifier`: each scheme with its algorithm, in order of
/// preference. ML-DSA comes last: a signature in today's handshake can't be forged later, so a peer with both kinds of
/// certificate saves ten kilobytes.
pub static HANDSHAKE_ALGORITHMS: &[(
    SignatureScheme,
    &'static dyn SignatureVerificationAlgorithm,
)] = &[
    #[cfg(feature = "ecdsa")]
    (SignatureScheme::ECDSA_SECP256R1_SHA256, &EcdsaP256Sha256),
    #[cfg(feature = "ml-dsa")]
    (SignatureScheme::MLDSA44, &MlDsaPure::ML_DSA_44),
    #[cfg(feature = "ml-dsa-65")]
    (SignatureScheme::MLDSA65, &MlDsaPure::ML_DSA_65),
];

/// For `Algorithms::chain`: the same algorithms.
pub static CHAIN_ALGORITHMS: &[&'static dyn SignatureVerificationAlgorithm] = &[
    #[cfg(feature = "ecdsa")]
    &EcdsaP256Sha256,
    #[cfg(feature = "ml-dsa")]
    &MlDsaPure::ML_DSA_44,
    #[cfg(feature = "ml-dsa-65")]
    &MlDsaPure::ML_DSA_65,
];
