//! The operations in BoringSSL. The keys of peers are read beforehand, except for those in certificates.

use std::error::Error;

use boring::derive::Deriver;
use boring::hash::{MessageDigest, hmac_sha256};
use boring::mlkem::{Algorithm, MlKemPrivateKey, MlKemPublicKey};
use boring::pkey::{Id, PKey, Private, Public};
use boring::rand::rand_bytes;
use boring::rsa::Padding;
use boring::sign::{RsaPssSaltlen, Signer, Verifier};
use boring::stack::Stack;
use boring::symm::{Cipher, decrypt, encrypt};
use boring::x509::store::X509StoreBuilder;
use boring::x509::{X509, X509StoreContext};

use crate::Operation;
use crate::certificates::{Keys, NAME, Server};

const LIBRARY: &str = "boring";

/// Before a key of X25519 in a SubjectPublicKeyInfo (RFC 8410).
const X25519_HEADER: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 3, 0x21, 0];

fn x25519() -> PKey<Private> {
    PKey::generate(Id::X25519).expect("a key of X25519")
}

fn share(key: &PKey<Private>) -> [u8; 32] {
    let mut share = [0; 32];
    key.raw_public_key(&mut share).expect("its public half");
    share
}

fn public(share: [u8; 32]) -> PKey<Public> {
    PKey::public_key_from_der(&[&X25519_HEADER[..], &share].concat()).expect("a share")
}

fn secret(own: &PKey<Private>, peer: &PKey<Public>) -> Vec<u8> {
    let mut deriver = Deriver::new(own).expect("a key");
    deriver.set_peer(peer).expect("a peer");
    deriver.derive_to_vec().expect("a secret")
}

fn ml_kem() -> (MlKemPublicKey, MlKemPrivateKey) {
    MlKemPrivateKey::generate(Algorithm::MlKem768).expect("a key of ML-KEM-768")
}

pub fn key_exchange() -> Result<Vec<Operation>, Box<dyn Error>> {
    let peer = public(share(&x25519()));
    let peers = [peer.clone(), peer.clone(), peer.clone(), peer];
    let [of_secret, of_answer, of_hybrid_answer, of_hybrid_opening] = peers;
    let encapsulated = || {
        let (public, private) = ml_kem();
        (private, public.encapsulate().expect("a ciphertext").0)
    };
    let x25519_pair = || {
        let key = x25519();
        let share = share(&key);
        (key, share)
    };
    let answer = move |peer: &PKey<Public>| {
        let (own, share) = x25519_pair();
        (secret(&own, peer), share)
    };
    Ok(vec![
        Operation::of("x25519 key generation", LIBRARY, || (), move |()| x25519_pair()),
        Operation::of("x25519 shared secret", LIBRARY, x25519, move |own| secret(&own, &of_secret)),
        Operation::of(
            "x25519 key generation and shared secret",
            LIBRARY,
            || (),
            move |()| answer(&of_answer),
        ),
        Operation::of("ml-kem-768 key generation", LIBRARY, || (), |()| ml_kem()),
        Operation::of(
            "ml-kem-768 encapsulation",
            LIBRARY,
            || ml_kem().0,
            |public| public.encapsulate(),
        ),
        Operation::of("ml-kem-768 decapsulation", LIBRARY, encapsulated, |(private, sent)| {
            private.decapsulate(&sent)
        }),
        Operation::of("hybrid key generation", LIBRARY, || (), move |()| (ml_kem(), x25519_pair())),
        Operation::of(
            "hybrid encapsulation",
            LIBRARY,
            || ml_kem().0,
            move |public| (public.encapsulate(), answer(&of_hybrid_answer)),
        ),
        Operation::of(
            "hybrid decapsulation",
            LIBRARY,
            move || (encapsulated(), x25519()),
            move |((private, sent), own)| {
                (private.decapsulate(&sent), secret(&own, &of_hybrid_opening))
            },
        ),
    ])
}

pub fn certificates(server: &Server) -> Result<Vec<Operation>, Box<dyn Error>> {
    let keys = server.keys;
    let private = PKey::private_key_from_pkcs8(&server.private_key)?;
    let (signed, signature) = (server.signed.clone(), server.signature.clone());
    let public = X509::from_der(&server.chain[0])?.public_key()?;
    let mut store = X509StoreBuilder::new()?;
    store.add_cert(X509::from_der(&server.root)?)?;
    let store = store.build();
    let chain = server.chain.clone();
    let accepts = move || {
        let leaf = X509::from_der(&chain[0]).expect("a certificate");
        let mut above = Stack::new().expect("memory");
        above.push(X509::from_der(&chain[1]).expect("a certificate")).expect("memory");
        let mut context = X509StoreContext::new().expect("memory");
        let accepted = context.init(&store, &leaf, &above, |context| {
            context.verify_param_mut().set_host(NAME)?;
            context.verify_cert()
        });
        assert!(accepted.expect("a verdict"), "the chain is right");
    };
    let proves = move || {
        let mut verifier = Verifier::new(MessageDigest::sha256(), &public).expect("a key");
        if keys == Keys::Rsa2048 {
            verifier.set_rsa_padding(Padding::PKCS1_PSS).expect("PSS");
            verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).expect("PSS");
        }
        assert!(verifier.verify_oneshot(&signature, &signed).expect("a verdict"), "it is right");
    };
    let message = server.signed.clone();
    let sign = move || {
        let mut signer = Signer::new(MessageDigest::sha256(), &private).expect("a key");
        if keys == Keys::Rsa2048 {
            signer.set_rsa_padding(Padding::PKCS1_PSS).expect("PSS");
            signer.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).expect("PSS");
        }
        signer.sign_oneshot_to_vec(&message).expect("a signature")
    };
    let name = |of: &str| format!("{} {of}", keys.name());
    Ok(vec![
        Operation::of(name("chain"), LIBRARY, || (), move |()| accepts()),
        Operation::of(name("CertificateVerify"), LIBRARY, || (), move |()| proves()),
        Operation::of(name("signature"), LIBRARY, || (), move |()| sign()),
    ])
}

/// Envoy's tickets: AES-256-CBC and HMAC-SHA256, over a session of as many bytes as a ticket of 208.
pub fn tickets() -> Result<Vec<Operation>, Box<dyn Error>> {
    const SESSION: usize = 143;
    let (mut aes, mut mac) = ([0; 32], [0; 32]);
    rand_bytes(&mut aes)?;
    rand_bytes(&mut mac)?;
    let code_of = move |bytes: &[u8]| hmac_sha256(&mac, bytes).expect("a code");
    let seal = move || {
        let mut iv = [0; 16];
        rand_bytes(&mut iv).expect("random bytes");
        let sealed =
            encrypt(Cipher::aes_256_cbc(), &aes, Some(&iv), &[7; SESSION]).expect("a ticket");
        let ticket = [&iv[..], &sealed].concat();
        let code = code_of(&ticket);
        (ticket, code)
    };
    let (ticket, code) = seal();
    let open = move || {
        assert!(boring::memcmp::eq(&code_of(&ticket), &code), "the code is right");
        decrypt(Cipher::aes_256_cbc(), &aes, Some(&ticket[..16]), &ticket[16..]).expect("a session")
    };
    Ok(vec![
        Operation::of("ticket sealing", LIBRARY, || (), move |()| seal()),
        Operation::of("ticket opening", LIBRARY, || (), move |()| open()),
    ])
}
