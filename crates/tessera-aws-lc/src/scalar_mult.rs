//! X25519 with a stored private key, without computing its public half.
//!
//! AWS-LC's Rust interface can't do that: it reads a private key by multiplying the base point, which
//! costs a third as much as the agreement. Graviola runs the same routine of s2n-bignum as AWS-LC, and
//! needs only the scalar.
//!
//! Graviola panics on processors that lack what some of its algorithms need. So it is used only where the
//! processor suffices, and after it has computed a known answer correctly.

use std::panic;
use std::sync::OnceLock;

use graviola::key_agreement::x25519::{PublicKey, StaticPrivateKey};
use tessera::crypto::{AgreementError, SharedSecret};

/// Returns what the owners of `scalar` and `share` share, or an error; `None` if this machine can't compute it.
pub(crate) fn x25519(
    scalar: &[u8; 32],
    share: &[u8],
) -> Option<Result<SharedSecret, AgreementError>> {
    works_here().then(|| multiply(scalar, share))
}

fn multiply(scalar: &[u8; 32], share: &[u8]) -> Result<SharedSecret, AgreementError> {
    let share = PublicKey::try_from_slice(share).map_err(|_| AgreementError::InvalidShare)?;
    // Refuses the all-zero secret, as RFC 8446 §7.4.2 requires.
    let agreed = StaticPrivateKey::from_array(scalar)
        .diffie_hellman(&share)
        .map_err(|_| AgreementError::InvalidShare)?;
    Ok(SharedSecret::new(agreed.0.to_vec()))
}

/// Returns whether Graviola runs here; tested once.
fn works_here() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        // A later Graviola may need more than this one, and panic.
        processor_suffices() && panic::catch_unwind(answers_well).unwrap_or(false)
    })
}

/// Returns whether the processor has what Graviola 0.4 needs.
#[cfg(target_arch = "x86_64")]
fn processor_suffices() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("aes")
        && has!("pclmulqdq")
        && has!("ssse3")
        && has!("bmi1")
        && has!("bmi2")
        && has!("adx")
        && has!("avx")
        && has!("avx2")
}

/// Returns whether the processor has what Graviola 0.4 needs.
#[cfg(target_arch = "aarch64")]
fn processor_suffices() -> bool {
    use std::arch::is_aarch64_feature_detected as has;
    has!("neon") && has!("aes") && has!("pmull") && has!("sha2")
}

/// RFC 7748 §6.1.
fn answers_well() -> bool {
    multiply(&ALICE, &BOBS_PUBLIC).is_ok_and(|agreed| agreed.expose() == SHARED)
}

const ALICE: [u8; 32] = [
    0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
    0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a,
];

const BOBS_PUBLIC: [u8; 32] = [
    0xde, 0x9e, 0xdb, 0x7d, 0x7b, 0x7d, 0xc1, 0xb4, 0xd3, 0x5b, 0x61, 0xc2, 0xec, 0xe4, 0x35, 0x37,
    0x3f, 0x83, 0x43, 0xc8, 0x5b, 0x78, 0x67, 0x4d, 0xad, 0xfc, 0x7e, 0x14, 0x6f, 0x88, 0x2b, 0x4f,
];

const SHARED: [u8; 32] = [
    0x4a, 0x5d, 0x9d, 0x5b, 0xa4, 0xce, 0x2d, 0xe1, 0x72, 0x8e, 0x3b, 0xf4, 0x80, 0x35, 0x0f, 0x25,
    0xe0, 0x7e, 0x21, 0xc9, 0x47, 0xd1, 0x9e, 0x33, 0x76, 0xf0, 0x9b, 0x3c, 0x1e, 0x16, 0x17, 0x42,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dh;

    /// Both ways agree, whichever this machine takes: the same secret, or the same error.
    #[test]
    fn scalar_multiplication_agrees_with_aws_lc() {
        if !processor_suffices() {
            return;
        }
        assert!(works_here());
        let mut shares: Vec<Vec<u8>> = (0..=255_u8).map(|byte| vec![byte; 32]).collect();
        // The curve's twist, values above the prime, points of small order, the top bit set.
        shares.extend((0..64).map(|bit| {
            let mut share = vec![0; 32];
            share[bit / 2] = 1 << (bit % 8);
            share
        }));
        shares.extend((0..=255_u8).map(|last| [&[0xff; 31][..], &[last]].concat()));
        shares.extend((0x80..=0xff_u8).map(|first| [&[first][..], &[0xff; 30], &[0x7f]].concat()));
        shares.extend([Vec::new(), vec![9; 31], vec![9; 33]]);
        let mut refused = 0;
        for (number, share) in shares.iter().enumerate() {
            let scalar = [number as u8 ^ 0x5a; 32];
            let key = dh::X25519.key_from_scalar(&scalar).expect("a scalar");
            let theirs = dh::X25519.agree(&key, share);
            match x25519(&scalar, share).expect("it works here") {
                Ok(agreed) => assert_eq!(agreed.expose(), theirs.expect("agrees").expose()),
                Err(error) => {
                    assert_eq!(error, theirs.map(|_| ()).expect_err("refuses"));
                    refused += 1;
                }
            }
        }
        assert!(refused >= 5, "points of small order and wrong lengths are refused: {refused}");
    }
}
