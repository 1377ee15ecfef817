//! What the verifier announces to peers about acceptable certificates.

use rcgen::{CertifiedIssuer, DnType, KeyPair};
use tessera::auth::PeerVerifier;
use tessera::wire::SignatureScheme;
use tessera_webpki::{Algorithms, ConfigError, WebPkiVerifier, issuers};

use crate::pki::{Peer, ca_params, root, server_params};

/// Encodes one RDN: id-at-commonName (2.5.4.3) as UTF8String.
fn common_name(name: &str) -> Vec<u8> {
    let len = name.len() as u8;
    let head = [0x30, 11 + len, 0x31, 9 + len, 0x30, 7 + len, 6, 3, 0x55, 4, 3, 12, len];
    [&head[..], name.as_bytes()].concat()
}

fn named_root(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = ca_params(name);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[test]
fn a_verifier_names_its_authorities_on_demand_alone() {
    let (one, two) = (named_root("one"), named_root("two"));
    let verifier = WebPkiVerifier::new(&[one.der(), two.der()]).unwrap();
    assert!(verifier.authorities().is_empty());
    let verifier = verifier.naming_authorities();
    assert_eq!(verifier.authorities(), [common_name("one"), common_name("two")]);
}

#[test]
fn the_issuers_of_a_chain_are_read_from_its_certificates() {
    let root = named_root("root");
    let key = KeyPair::generate().unwrap();
    let mut params = ca_params("below");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "below");
    let below = CertifiedIssuer::signed_by(params, key, &root).unwrap();
    let mut chain = Peer::new(&server_params(), &below).chain;
    chain.push(below.der().to_vec());
    assert_eq!(issuers(&chain), Ok(vec![common_name("below"), common_name("root")]));
    // The anchor itself names its issuer a second time.
    chain.push(root.der().to_vec());
    assert_eq!(issuers(&chain), Ok(vec![common_name("below"), common_name("root")]));
    let error = issuers(&[b"garbage"]).unwrap_err();
    assert!(matches!(error, ConfigError::Certificate(_)), "{error}");
}

#[test]
fn the_issuers_of_a_chain_are_the_authorities_that_verifiers_name() {
    let root = root("root");
    let verifier = WebPkiVerifier::new(&[root.der()]).unwrap().naming_authorities();
    let chain = Peer::new(&server_params(), &root).chain;
    assert_eq!(issuers(&chain).unwrap(), verifier.authorities());
}

#[test]
fn a_verifier_lists_chain_schemes_where_they_are_fewer() {
    let root = root("root");
    let standard = WebPkiVerifier::new(&[root.der()]).unwrap();
    assert!(standard.chain_schemes().is_empty(), "one list suffices");

    const OWN: Algorithms = Algorithms {
        chain: &[
            webpki::aws_lc_rs::ECDSA_P256_SHA256,
            webpki::aws_lc_rs::RSA_PKCS1_2048_8192_SHA256,
        ],
        chain_schemes: &[SignatureScheme::RSA_PKCS1_SHA256],
        ..Algorithms::AWS_LC
    };
    let own = WebPkiVerifier::with_algorithms(&[root.der()], OWN).unwrap();
    let schemes = [SignatureScheme::ECDSA_SECP256R1_SHA256, SignatureScheme::RSA_PKCS1_SHA256];
    assert_eq!(own.chain_schemes(), schemes);
}
