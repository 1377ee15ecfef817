//! Signatures of `fn-dsa-sign` are verified, and no others.

use tessera::wire::SignatureScheme;
use tessera_pki::FalconKey;
use tessera_pki::fn_dsa_sign::{
    DOMAIN_NONE, DomainContext, FN_DSA_LOGN_512, FN_DSA_LOGN_1024, HASH_ID_RAW, HASH_ID_SHA256,
};

use crate::verify::{MESSAGE, assert_verifies, in_handshakes};

const SIZES: [(SignatureScheme, u32, usize, usize); 2] = [
    (SignatureScheme::FALCON512_PRE_STANDARD, FN_DSA_LOGN_512, 897, 666),
    (SignatureScheme::FALCON1024_PRE_STANDARD, FN_DSA_LOGN_1024, 1793, 1280),
];

#[test]
fn falcon_verifies() {
    for (scheme, logn, of_key, of_signature) in SIZES {
        let pair = FalconKey::generate(logn);
        let signature = pair.sign(MESSAGE);
        assert_eq!((pair.public.len(), signature.len()), (of_key, of_signature));
        assert_verifies(scheme, &pair.public, &signature);
        // Each has a salt of its own.
        assert_ne!(pair.sign(MESSAGE), signature);
    }
}

#[test]
fn falcon_with_a_context_a_hash_or_another_key_is_refused() {
    for (scheme, logn, ..) in SIZES {
        let (pair, other) = (FalconKey::generate(logn), FalconKey::generate(logn));
        for signature in [
            pair.sign_as(&DomainContext(b"TLS 1.3"), &HASH_ID_RAW, MESSAGE),
            pair.sign_as(&DOMAIN_NONE, &HASH_ID_SHA256, MESSAGE),
            other.sign(MESSAGE),
        ] {
            let result = in_handshakes(scheme).verify_signature(&pair.public, MESSAGE, &signature);
            assert!(result.is_err());
        }
    }
}

/// Neither as a whole, nor one half.
#[test]
fn falcon_of_the_other_size_is_refused() {
    let pairs = SIZES.map(|(_, logn, ..)| FalconKey::generate(logn));
    let signatures = pairs.each_ref().map(|pair| pair.sign(MESSAGE));
    for (at, (scheme, ..)) in SIZES.into_iter().enumerate() {
        for (key, signature) in [(1 - at, 1 - at), (at, 1 - at), (1 - at, at)] {
            let (key, signature) = (&pairs[key].public, &signatures[signature]);
            assert!(in_handshakes(scheme).verify_signature(key, MESSAGE, signature).is_err());
        }
    }
}
