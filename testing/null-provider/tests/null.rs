//! The shape is right: ends agree, and different inputs are detected.

use tessera::Role;
use tessera::auth::{PeerVerifier, Proof, VerifyPeer};
use tessera::crypto::{AgreementError, Nonce, OpenFailed, Signer, SigningError};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_null_provider::{NullSigner, NullVerifier, provider};

#[test]
fn the_null_hash_does_not_depend_on_the_pieces_of_its_input() {
    let input: Vec<u8> = (0..100).collect();
    for suite in provider().suites {
        for piece in 1..30 {
            for end in 0..input.len() {
                let mut running = suite.hash.start();
                input[..end].chunks(piece).for_each(|piece| running.update(piece));
                assert_eq!(running.current().as_ref(), suite.hash.hash(&input[..end]).as_ref());
            }
        }
    }
}

#[test]
fn the_null_hash_of_different_inputs_differs() {
    for suite in provider().suites {
        let hash = suite.hash;
        let mut seen = std::collections::BTreeSet::new();
        let input = [0; 100];
        for len in 0..input.len() {
            assert!(seen.insert(hash.hash(&input[..len]).as_ref().to_vec()), "{len} zeros");
            for bit in 0..len * 8 {
                let mut changed = input[..len].to_vec();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(seen.insert(hash.hash(&changed).as_ref().to_vec()), "{len}, bit {bit}");
            }
        }
        assert_eq!(hash.hash(b"").as_ref().len(), hash.len());
        assert_ne!(hash.hmac(b"a", b"bc").as_ref(), hash.hmac(b"ab", b"c").as_ref());
        let prk = hash.extract(b"salt", b"input");
        assert!(prk != hash.extract(b"salt", b"Input"));
        assert!(prk != hash.extract(b"Salt", b"input"));
        assert!(hash.extract(&[], b"input") == hash.extract(&vec![0; hash.len()], b"input"));
        let expand = |info: &[u8]| {
            let mut out = [0; 48];
            hash.expand(prk.expose(), info, &mut out);
            out
        };
        assert_eq!(expand(b"info"), expand(b"info"));
        assert_ne!(expand(b"info"), expand(b"Info"));
    }
}

#[test]
fn the_null_aead_notices_other_keys_and_nonces() {
    for suite in provider().suites {
        let key = suite.aead.key(&vec![1; suite.aead.key_len()]);
        let other = suite.aead.key(&vec![2; suite.aead.key_len()]);
        let iv = [3; 12];
        let nonce = Nonce::for_record(&iv, 0);
        let mut record = b"plaintext".to_vec();
        let tag = key.seal(&nonce, b"header", &mut record);
        record.extend_from_slice(&tag);

        assert_eq!(key.open(&nonce, b"header", &mut record), Ok(9));
        assert_eq!(&record[..9], b"plaintext");
        assert_eq!(other.open(&nonce, b"header", &mut record), Err(OpenFailed));
        for number in 1..100 {
            let nonce = Nonce::for_record(&iv, number);
            assert_eq!(key.open(&nonce, b"header", &mut record), Err(OpenFailed));
        }
        assert_eq!(key.open(&nonce, b"header", &mut record[..15]), Err(OpenFailed));
        record[20] ^= 1;
        assert_eq!(key.open(&nonce, b"header", &mut record), Err(OpenFailed));
    }
}

#[test]
fn both_ends_of_every_null_group_agree_on_a_secret() {
    for group in provider().groups {
        let client = group.generate().unwrap();
        assert_eq!(client.share().len(), group.share_len());
        assert_ne!(client.share(), group.generate().unwrap().share());
        let (reply, server_secret) = group.encapsulate(client.share()).unwrap();
        assert_eq!(reply.len(), group.reply_len());
        assert_eq!(client.decapsulate(&reply).unwrap().expose(), server_secret.expose());

        assert_eq!(group.encapsulate(&reply[1..]).unwrap_err(), AgreementError::InvalidShare);
        let other = group.generate().unwrap().decapsulate(&reply).unwrap();
        assert_ne!(other.expose(), server_secret.expose());
    }
}

#[test]
fn both_ends_of_every_null_one_time_key_agree_on_a_secret() {
    for keys in provider().one_time_keys {
        let mut seed = vec![0; keys.seed_len()];
        provider().random.fill(&mut seed).unwrap();
        let public = keys.from_seed(&seed).unwrap().public().unwrap();
        assert_eq!(public.len(), keys.public_len());
        assert_eq!(public, keys.from_seed(&seed).unwrap().public().unwrap());

        let group = provider().group(keys.kind()).unwrap();
        let (encapsulated, client_secret) = group.encapsulate(&public).unwrap();
        let server_secret = keys.from_seed(&seed).unwrap().open(&encapsulated).unwrap();
        assert_eq!(client_secret.expose(), server_secret.expose());

        assert!(keys.from_seed(&seed[1..]).is_err());
        seed[0] ^= 1;
        assert_ne!(public, keys.from_seed(&seed).unwrap().public().unwrap());
    }
}

#[test]
fn the_null_verifier_accepts_the_null_signers_signature_alone() {
    let scheme = NullSigner.schemes()[0];
    let question = |signature| {
        let proof = Proof::Signature { scheme, signed: b"message".to_vec(), signature };
        VerifyPeer::new(Role::Server, vec![b"certificate".to_vec()], proof)
    };
    let mut signature = NullSigner.sign(scheme, b"message").unwrap();
    assert!(matches!(NullVerifier.verify(&question(signature.clone())), Reply::Now(Ok(_))));
    signature[0] ^= 1;
    let Reply::Now(Err(rejected)) = NullVerifier.verify(&question(signature)) else {
        panic!("another signature was accepted");
    };
    assert_eq!(rejected.alert, AlertDescription::DECRYPT_ERROR);
    assert_eq!(NullSigner.sign(SignatureScheme::MLDSA44, b"message"), Err(SigningError));
}

/// The mask of a header depends on key and sample.
#[test]
fn null_header_masks_depend_on_key_and_sample() {
    for suite in provider().suites {
        let len = suite.aead.key_len();
        let mask = |key: u8, sample| suite.aead.header_key(&vec![key; len]).mask(&[sample; 16]);
        assert_eq!(mask(1, 2), mask(1, 2));
        assert_ne!(mask(1, 2), mask(1, 3));
        assert_ne!(mask(1, 2), mask(2, 2));
    }
}
