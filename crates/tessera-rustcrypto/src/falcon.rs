//! Verifies Falcon-512 and Falcon-1024, as the crate `fn-dsa-vrfy` guesses that FN-DSA (FIPS 206) will have them: what the
//! crate's page calls pre-standard.

use core::fmt;
use core::marker::PhantomData;

use fn_dsa_vrfy::{DOMAIN_NONE, HASH_ID_RAW, VerifyingKey, VerifyingKey512, VerifyingKey1024};
use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

/// Falcon with keys of this degree, without a hash of the message before it.
pub(crate) struct FalconPreStandard<K> {
    /// The same for keys and signatures, as with ML-DSA.
    id: AlgorithmIdentifier,
    key: PhantomData<fn() -> K>,
}

impl FalconPreStandard<VerifyingKey512> {
    /// 1.3.9999.3.16, Open Quantum Safe's for signatures of this length.
    pub(crate) const FALCON_512: Self = Self {
        id: AlgorithmIdentifier::from_slice(&[0x06, 0x05, 0x2b, 0xce, 0x0f, 0x03, 0x10]),
        key: PhantomData,
    };
}

impl FalconPreStandard<VerifyingKey1024> {
    /// 1.3.9999.3.19.
    pub(crate) const FALCON_1024: Self = Self {
        id: AlgorithmIdentifier::from_slice(&[0x06, 0x05, 0x2b, 0xce, 0x0f, 0x03, 0x13]),
        key: PhantomData,
    };
}

impl<K: VerifyingKey> SignatureVerificationAlgorithm for FalconPreStandard<K> {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = K::decode(public_key).ok_or(InvalidSignature)?;
        let is_right = key.verify(signature, &DOMAIN_NONE, &HASH_ID_RAW, message);
        is_right.then_some(()).ok_or(InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.id
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.id
    }
}

impl<K> fmt::Debug for FalconPreStandard<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FalconPreStandard")
    }
}
