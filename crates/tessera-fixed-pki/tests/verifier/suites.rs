//! The chains of `firmware/pki/suites`, with the algorithms for devices.

use std::fs;
use std::path::Path;

use tessera::Role;
use tessera::auth::{PeerVerifier, Proof, VerifyPeer};
use tessera::crypto::Signer;
use tessera::wire::SignatureScheme;
use tessera_aws_lc::{KemKey, SigningKey};
use tessera_fixed_pki::{Anchor, FixedPkiVerifier};
use tessera_pki::{FalconKey, fn_dsa_sign};
use tessera_rustcrypto::{CHAIN_ALGORITHMS, CHAIN_SCHEMES, HANDSHAKE_ALGORITHMS};

use crate::kems::{KEMS, asked, question, verdict};
use crate::pki::{leaked, with};

const FALCON_512: &str = "falcon-512";

/// Each kind of authority, and how its servers sign.
const AUTHORITIES: [(&str, SignatureScheme); 8] = [
    ("ed25519", SignatureScheme::ED25519),
    ("p256", SignatureScheme::ECDSA_SECP256R1_SHA256),
    ("rsa-2048", SignatureScheme::RSA_PSS_RSAE_SHA256),
    ("ml-dsa-44", SignatureScheme::MLDSA44),
    ("ml-dsa-65", SignatureScheme::MLDSA65),
    ("ml-dsa-87", SignatureScheme::MLDSA87),
    (FALCON_512, SignatureScheme::FALCON512_PRE_STANDARD),
    ("falcon-1024", SignatureScheme::FALCON1024_PRE_STANDARD),
];

/// The time of the images' connections: in 2027.
const THEIR_NOW: u64 = 1_800_000_000;

const MESSAGE: &[u8] = b"TLS 1.3, server CertificateVerify";

fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/pki/suites");
    fs::read(folder.join(format!("{name}.der"))).unwrap()
}

fn verifier(authority: &str) -> FixedPkiVerifier {
    let root = Anchor::certificate(leaked(&read(&format!("{authority}/root")))).unwrap();
    let verifier = FixedPkiVerifier::new(vec![root], HANDSHAKE_ALGORITHMS).unwrap();
    let verifier = verifier.accepting_in_certificates(CHAIN_ALGORITHMS, CHAIN_SCHEMES);
    verifier.accepting_kems(&KEMS).unwrap()
}

fn chain(authority: &str, server: &str) -> Vec<Vec<u8>> {
    [server, "between"].map(|name| read(&format!("{authority}/{name}"))).into()
}

/// Signs with a key in PKCS#8.
fn sign(scheme: SignatureScheme, key: &[u8]) -> Vec<u8> {
    let logn = match scheme {
        SignatureScheme::FALCON512_PRE_STANDARD => fn_dsa_sign::FN_DSA_LOGN_512,
        SignatureScheme::FALCON1024_PRE_STANDARD => fn_dsa_sign::FN_DSA_LOGN_1024,
        _ => return SigningKey::from_pkcs8(key).unwrap().sign(scheme, MESSAGE).unwrap(),
    };
    let private = &key[key.len() - fn_dsa_sign::sign_key_size(logn)..];
    FalconKey::read(private).unwrap().sign(MESSAGE)
}

fn signed(chain: Vec<Vec<u8>>, scheme: SignatureScheme, signature: Vec<u8>) -> VerifyPeer {
    let proof = Proof::Signature { scheme, signed: MESSAGE.to_vec(), signature };
    with(VerifyPeer::new(Role::Server, chain, proof), |it| {
        it.unix = Some(THEIR_NOW);
        it.server_name = Some("server.example".into());
    })
}

#[test]
fn servers_with_the_keys_of_every_authority_are_accepted() {
    for (authority, scheme) in AUTHORITIES {
        let signature = sign(scheme, &read(&format!("{authority}/server.key")));
        let question = signed(chain(authority, "server"), scheme, signature);
        assert!(verdict(&verifier(authority), &question).is_ok(), "{authority}");
        // Each chain has an authority of its own, although all have one name.
        for (other, _) in AUTHORITIES.iter().filter(|(other, _)| *other != authority) {
            assert!(verdict(&verifier(other), &question).is_err(), "{authority} under {other}");
        }
    }
}

#[test]
fn keys_of_ml_kem_below_every_authority_are_accepted() {
    for (authority, _) in AUTHORITIES {
        for (name, scheme) in ["ml-kem-512", "ml-kem-768", "ml-kem-1024"].into_iter().zip(KEMS) {
            let verifier = verifier(authority);
            let question = with(question(chain(authority, name), scheme), |it| {
                it.unix = Some(THEIR_NOW);
            });
            assert_eq!(verifier.kem_scheme(&asked(&question.chain)), Some(scheme));
            let key = KemKey::from_pkcs8(&read(&format!("{name}.key"))).unwrap();
            let public_key = verdict(&verifier, &question).unwrap().public_key.unwrap();
            assert_eq!(public_key.as_bytes(), key.public_key(), "{authority} {name}");
        }
    }
}

#[test]
fn an_ml_dsa_key_below_falcon_is_accepted() {
    let signature = sign(SignatureScheme::MLDSA44, &read("falcon-512/ml-dsa-44.key"));
    let question = signed(chain(FALCON_512, "ml-dsa-44"), SignatureScheme::MLDSA44, signature);
    assert!(verdict(&verifier(FALCON_512), &question).is_ok());
}
