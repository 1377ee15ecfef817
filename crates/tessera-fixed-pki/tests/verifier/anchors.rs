//! Trust anchors.

use rcgen::{IsCa, KeyPair, KeyUsagePurpose, PublicKeyData};
use tessera_fixed_pki::{Anchor, Defect, FixedPkiVerifier};

use crate::pki::{
    ALGORITHMS, Both, NOT_AFTER, Peer, below, judge, leaked, root, root_with, server_params, with,
};

#[test]
fn an_anchor_is_a_name_with_a_key() {
    let root = root();
    let peer = Peer::new(&server_params(), &root).as_server();
    // The root's subject: its certificate has it before its key.
    let der = root.der();
    let name = b"\x30\x0f\x31\x0d\x30\x0b\x06\x03\x55\x04\x03\x0c\x04root";
    assert!(der.windows(name.len()).any(|it| it == name));
    let key = root.key().subject_public_key_info();
    let anchor = Anchor::name_and_key(name, leaked(&key)).unwrap();
    let verifier = FixedPkiVerifier::new(vec![anchor], ALGORITHMS).unwrap();
    assert_eq!(judge(&verifier, &peer).unwrap().expires_at, Some(NOT_AFTER));
    let other_key = KeyPair::generate().unwrap().subject_public_key_info();
    let other = Anchor::name_and_key(name, leaked(&other_key)).unwrap();
    let verifier = FixedPkiVerifier::new(vec![other], ALGORITHMS).unwrap();
    assert_eq!(judge(&verifier, &peer), Err(Defect::Signature.into()));
    for (name, key) in [(&name[1..], &key[..]), (name, &key[1..]), (&[], &key), (name, &[])] {
        let anchor = Anchor::name_and_key(leaked(name), leaked(key));
        assert_eq!(anchor.err(), Some(Defect::Malformed));
    }
}

#[test]
fn a_root_in_pem_is_refused_by_name() {
    let defect = Anchor::certificate(b"-----BEGIN CERTIFICATE-----\nMIIB").unwrap_err();
    assert_eq!(defect.to_string(), "certificate: it is not DER, or malformed");
}

#[test]
fn an_anchor_that_is_no_authority_vouches_for_itself_alone() {
    let key = KeyPair::generate().unwrap();
    let own = server_params().self_signed(&key).unwrap().der().to_vec();
    let peer = Peer { key, chain: vec![own.clone()] };
    let both = Both::trusting(std::slice::from_ref(&own));
    let identity = both.accept(&peer.as_server());
    assert_eq!(identity.expires_at, Some(NOT_AFTER));
    both.refuse(&with(peer.as_server(), |it| it.unix = Some(NOT_AFTER + 1)), Defect::Expired);
    both.refuse(
        &with(peer.as_server(), |it| it.server_name = Some("b.example".into())),
        Defect::Name,
    );
    both.refuse(&peer.as_client(), Defect::ExtendedKeyUsage);

    let issuer = root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |it| it.is_ca = IsCa::NoCa);
    let both = Both::new(&[&issuer]);
    both.refuse(&Peer::new(&server_params(), &issuer).as_server(), Defect::UnknownIssuer);
}

#[test]
fn an_anchor_that_must_not_sign_certificates_is_no_issuer() {
    let issuer = root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |it| {
        it.key_usages = vec![KeyUsagePurpose::CrlSign];
    });
    let both = Both::new(&[&issuer]);
    both.refuse_alone(&Peer::new(&server_params(), &issuer).as_server(), Defect::UnknownIssuer);
}

/// An authority that serves itself: its own certificate is trusted, whatever its constraints are.
#[test]
fn an_anchor_may_be_an_authority_and_a_server() {
    let own = root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |it| {
        it.key_usages.push(KeyUsagePurpose::DigitalSignature);
        it.subject_alt_names = server_params().subject_alt_names;
    });
    let key = KeyPair::from_pkcs8_der_and_sign_algo(
        &own.key().serialize_der().into(),
        &rcgen::PKCS_ECDSA_P256_SHA256,
    );
    let peer = Peer { key: key.unwrap(), chain: vec![own.der().to_vec()] };
    Both::new(&[&own]).accept(&peer.as_server());
    Both::new(&[&own]).refuse(
        &with(peer.as_server(), |it| it.server_name = Some("b.example".into())),
        Defect::Name,
    );
}

/// Dates of a root that vouches for others are its owner's affair (RFC 5280 §6.1.1).
#[test]
fn an_expired_anchor_vouches_for_others() {
    let root = root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |it| {
        it.not_after = rcgen::date_time_ymd(2000, 1, 1);
    });
    let between = below("between", &root, |_| ());
    let peer = Peer::new(&server_params(), &between).above(&[&between]);
    Both::new(&[&root]).accept(&peer.as_server());
}

#[test]
fn anchors_that_would_not_be_obeyed_are_refused() {
    let unknown = root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |it| {
        it.custom_extensions = vec![crate::pki::extension(&[1, 2, 3, 4], true, &[5, 0])];
    });
    let refused = |der: &[u8]| Anchor::certificate(leaked(der)).map(drop);
    assert_eq!(refused(unknown.der()), Err(Defect::CriticalExtension));
    assert_eq!(refused(b"garbage"), Err(Defect::Malformed));
    let constrained = root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |it| {
        it.name_constraints = Some(rcgen::NameConstraints {
            permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("example".into())],
            excluded_subtrees: vec![],
        });
    });
    assert_eq!(refused(constrained.der()), Err(Defect::NameConstraints));
}
