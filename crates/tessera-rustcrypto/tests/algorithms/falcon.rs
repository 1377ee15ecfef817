//! Signatures of `fn-dsa-sign` are verified, and no others.

use aws_lc_rs::rand;
use fn_dsa_kgen::{
    CryptoRng, FN_DSA_LOGN_512, FN_DSA_LOGN_1024, KeyPairGenerator, KeyPairGeneratorStandard,
    RngCore, RngError, sign_key_size, vrfy_key_size,
};
use fn_dsa_sign::{
    DOMAIN_NONE, DomainContext, HASH_ID_RAW, HASH_ID_SHA256, HashIdentifier, SigningKey,
    SigningKeyStandard, signature_size,
};
use tessera::wire::SignatureScheme;

use crate::verify::{MESSAGE, assert_verifies, in_handshakes};

/// The process's generator, in the form that the crates take.
struct Source;

impl RngCore for Source {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_ne_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        rand::fill(bytes).unwrap();
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), RngError> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl CryptoRng for Source {}

struct Pair {
    /// Encoded: read, it has 115 KB.
    private: Vec<u8>,
    public: Vec<u8>,
}

impl Pair {
    fn generate(logn: u32) -> Self {
        let (mut private, mut public) =
            (vec![0; sign_key_size(logn)], vec![0; vrfy_key_size(logn)]);
        KeyPairGeneratorStandard::default().keygen(logn, &mut Source, &mut private, &mut public);
        Self { private, public }
    }

    fn sign(&self, context: &DomainContext<'_>, hash: &HashIdentifier<'_>) -> Vec<u8> {
        let mut key = SigningKeyStandard::decode(&self.private).unwrap();
        let mut signature = vec![0; signature_size(key.get_logn())];
        key.sign(&mut Source, context, hash, MESSAGE, &mut signature).unwrap();
        signature
    }
}

const SIZES: [(SignatureScheme, u32, usize, usize); 2] = [
    (SignatureScheme::FALCON512_PRE_STANDARD, FN_DSA_LOGN_512, 897, 666),
    (SignatureScheme::FALCON1024_PRE_STANDARD, FN_DSA_LOGN_1024, 1793, 1280),
];

#[test]
fn falcon_verifies() {
    for (scheme, logn, of_key, of_signature) in SIZES {
        let pair = Pair::generate(logn);
        let signature = pair.sign(&DOMAIN_NONE, &HASH_ID_RAW);
        assert_eq!((pair.public.len(), signature.len()), (of_key, of_signature));
        assert_verifies(scheme, &pair.public, &signature);
        // Each has a salt of its own.
        assert_ne!(pair.sign(&DOMAIN_NONE, &HASH_ID_RAW), signature);
    }
}

#[test]
fn falcon_with_a_context_a_hash_or_another_key_is_refused() {
    for (scheme, logn, ..) in SIZES {
        let (pair, other) = (Pair::generate(logn), Pair::generate(logn));
        for signature in [
            pair.sign(&DomainContext(b"TLS 1.3"), &HASH_ID_RAW),
            pair.sign(&DOMAIN_NONE, &HASH_ID_SHA256),
            other.sign(&DOMAIN_NONE, &HASH_ID_RAW),
        ] {
            let result = in_handshakes(scheme).verify_signature(&pair.public, MESSAGE, &signature);
            assert!(result.is_err());
        }
    }
}

/// Neither as a whole, nor one half.
#[test]
fn falcon_of_the_other_size_is_refused() {
    let pairs = SIZES.map(|(_, logn, ..)| Pair::generate(logn));
    let signatures = pairs.each_ref().map(|pair| pair.sign(&DOMAIN_NONE, &HASH_ID_RAW));
    for (at, (scheme, ..)) in SIZES.into_iter().enumerate() {
        for (key, signature) in [(1 - at, 1 - at), (at, 1 - at), (1 - at, at)] {
            let (key, signature) = (&pairs[key].public, &signatures[signature]);
            assert!(in_handshakes(scheme).verify_signature(key, MESSAGE, signature).is_err());
        }
    }
}
