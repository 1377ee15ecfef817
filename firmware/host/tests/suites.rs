//! The servers' keys of the suites: what each signs is verified by its chain, with the algorithms of the image.
#![cfg(feature = "suites")]

use tessera::auth::{PeerVerifier, Proof, VerifyPeer};
use tessera::crypto::{Signer, SigningError};
use tessera::wire::SignatureScheme;
use tessera::{Reply, Role};
use tessera_firmware_host::ed25519_key::Ed25519Key;
use tessera_firmware_host::ends;
use tessera_firmware_host::falcon_key::{FalconKey, SigningKey512, SigningKey1024};
use tessera_firmware_host::ml_dsa_key::MlDsaKey;
use tessera_firmware_host::rsa_key::RsaKey;
use tessera_fixed_pki::{Anchor, FixedPkiVerifier};
use tessera_rustcrypto::{CHAIN_ALGORITHMS, CHAIN_SCHEMES, HANDSHAKE_ALGORITHMS, SigningKey};

const MESSAGE: &[u8] = b"TLS 1.3, server CertificateVerify";

/// The root, the authority between, the server, and its key.
type Chain = [&'static [u8]; 4];

macro_rules! chain {
    ($authority:literal, $server:literal) => {
        [
            &include_bytes!(concat!("../../pki/suites/", $authority, "/root.der"))[..],
            &include_bytes!(concat!("../../pki/suites/", $authority, "/between.der"))[..],
            &include_bytes!(concat!("../../pki/suites/", $authority, "/", $server, ".der"))[..],
            &include_bytes!(concat!("../../pki/suites/", $authority, "/", $server, ".key.der"))[..],
        ]
    };
}

fn assert_signs<K: Signer>(
    read: impl Fn(&[u8]) -> Option<K>,
    scheme: SignatureScheme,
    [root, between, server, key]: Chain,
) {
    assert!(read(&key[..key.len() / 2]).is_none() && read(&[]).is_none());
    let key = read(key).expect("the key is good");
    assert_eq!(key.schemes(), [scheme]);
    assert_eq!(key.sign(SignatureScheme::KEM_X25519, MESSAGE), Err(SigningError));
    let signature = key.sign(scheme, MESSAGE).expect("it signs");
    let root = Anchor::certificate(root).expect("the root is good");
    let verifier = FixedPkiVerifier::new(vec![root], HANDSHAKE_ALGORITHMS)
        .expect("anchor and algorithms are there")
        .accepting_in_certificates(CHAIN_ALGORITHMS, CHAIN_SCHEMES);
    let accepts = |signed: &[u8]| {
        let signature = signature.clone();
        let proof = Proof::Signature { scheme, signed: signed.to_vec(), signature };
        let chain = vec![server.to_vec(), between.to_vec()];
        let mut question = VerifyPeer::new(Role::Server, chain, proof);
        question.unix = ends::NOW.unix.map(|unix| unix.as_secs());
        question.server_name = Some(ends::SERVER_NAME.into());
        matches!(verifier.verify(&question), Reply::Now(Ok(_)))
    };
    assert!(accepts(MESSAGE) && !accepts(b"something else"), "{scheme:?}");
}

#[test]
fn each_key_signs_for_its_chain() {
    let p256 = |der: &[u8]| SigningKey::from_pkcs8(der).ok();
    assert_signs(p256, SignatureScheme::ECDSA_SECP256R1_SHA256, chain!("p256", "server"));
    let ed25519 = chain!("ed25519", "server");
    assert_signs(Ed25519Key::from_pkcs8, SignatureScheme::ED25519, ed25519);
    let rsa = chain!("rsa-2048", "server");
    assert_signs(RsaKey::from_pkcs8, SignatureScheme::RSA_PSS_RSAE_SHA256, rsa);
}

#[test]
fn each_key_of_ml_dsa_signs_for_its_chain() {
    use ml_dsa::{MlDsa44, MlDsa65, MlDsa87};
    let ml_dsa_44 = MlDsaKey::<MlDsa44>::from_pkcs8;
    for chain in [chain!("ml-dsa-44", "server"), chain!("falcon-512", "ml-dsa-44")] {
        assert_signs(ml_dsa_44, SignatureScheme::MLDSA44, chain);
    }
    let ml_dsa_65 = MlDsaKey::<MlDsa65>::from_pkcs8;
    assert_signs(ml_dsa_65, SignatureScheme::MLDSA65, chain!("ml-dsa-65", "server"));
    let ml_dsa_87 = MlDsaKey::<MlDsa87>::from_pkcs8;
    assert_signs(ml_dsa_87, SignatureScheme::MLDSA87, chain!("ml-dsa-87", "server"));
}

#[test]
fn each_key_of_falcon_signs_for_its_chain() {
    let falcon_512 = FalconKey::<SigningKey512>::from_pkcs8;
    let chain = chain!("falcon-512", "server");
    assert_signs(falcon_512, SignatureScheme::FALCON512_PRE_STANDARD, chain);
    let falcon_1024 = FalconKey::<SigningKey1024>::from_pkcs8;
    let chain = chain!("falcon-1024", "server");
    assert_signs(falcon_1024, SignatureScheme::FALCON1024_PRE_STANDARD, chain);
}
