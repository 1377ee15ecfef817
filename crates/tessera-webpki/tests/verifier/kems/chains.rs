//! Chains whose end entity has a key of a KEM.

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, KeyUsagePurpose};
use tessera::Role;
use tessera::auth::PeerVerifier;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_webpki::UnknownStatus;

use super::{ALL, KemPeer, assert_accepted, judge, trusting};
use crate::pki::{
    NOT_AFTER, NOW, Peer, ca_params, client_params, crl, refused, root, root_with, server_params,
    with,
};

use KeyUsagePurpose::{
    DataEncipherment, DecipherOnly, DigitalSignature, EncipherOnly, KeyAgreement, KeyEncipherment,
};

#[test]
fn certificates_for_every_kem_are_accepted_with_their_keys() {
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ML_DSA_65] {
        let root = root_with("root", algorithm);
        let verifier = trusting(&root);
        for scheme in ALL {
            let server = KemPeer::new(&server_params(), scheme, &root);
            assert_accepted(&verifier, &server, &server.as_server());
            let identity = judge(&verifier, &server.as_server()).unwrap().identity;
            assert_eq!(identity.blob, b"server.example");
            assert_eq!(identity.expires_at, Some(NOT_AFTER));

            let client = KemPeer::new(&client_params(&["a.example"]), scheme, &root);
            assert_accepted(&verifier, &client, &client.as_client());
            let identity = judge(&verifier, &client.as_client()).unwrap().identity;
            assert_eq!(identity.blob, b"dns:a.example");
        }
    }
}

#[test]
fn a_chain_to_a_key_of_a_kem_has_intermediates() {
    let root = root("root");
    let key = KeyPair::generate_for(&rcgen::PKCS_ML_DSA_65).unwrap();
    let below = CertifiedIssuer::signed_by(ca_params("below"), key, &root).unwrap();
    let mut server = KemPeer::new(&server_params(), SignatureScheme::KEM_MLKEM768, &below);
    refused(&trusting(&root), &server.as_server(), AlertDescription::UNKNOWN_CA);
    server.chain.push(below.der().to_vec());
    assert_accepted(&trusting(&root), &server, &server.as_server());
}

/// The key of a certificate proves nothing of the rest.
#[test]
fn a_chain_to_a_key_of_a_kem_is_judged_as_every_other() {
    let root = root("root");
    let verifier = trusting(&root);
    let server = KemPeer::new(&server_params(), SignatureScheme::KEM_MLKEM768, &root);
    let good = server.as_server();
    for (question, alert) in [
        (with(good.clone(), |it| it.unix = None), AlertDescription::INTERNAL_ERROR),
        (
            with(good.clone(), |it| it.unix = Some(NOT_AFTER + 1)),
            AlertDescription::CERTIFICATE_EXPIRED,
        ),
        (
            with(good.clone(), |it| it.server_name = Some("other.example".into())),
            AlertDescription::BAD_CERTIFICATE,
        ),
        // It is for servers.
        (server.as_client(), AlertDescription::UNSUPPORTED_CERTIFICATE),
        (with(good.clone(), |it| it.chain.clear()), AlertDescription::DECODE_ERROR),
        (with(good.clone(), |it| it.known = Some([7; 32])), AlertDescription::BAD_CERTIFICATE),
        (with(good.clone(), |it| it.chain[0][9] ^= 1), AlertDescription::BAD_CERTIFICATE),
    ] {
        refused(&verifier, &question, alert);
    }
    refused(&trusting(&crate::pki::root("other")), &good, AlertDescription::UNKNOWN_CA);
    let checking = |serials: &[u64]| {
        trusting(&root).with_crls(&[crl(&root, serials)], UnknownStatus::Reject).unwrap()
    };
    assert_accepted(&checking(&[]), &server, &good);
    refused(&checking(&[7]), &good, AlertDescription::CERTIFICATE_REVOKED);
}

fn with_usage(usages: &[KeyUsagePurpose], mut params: CertificateParams) -> CertificateParams {
    params.key_usages = usages.to_vec();
    params
}

/// RFC 9935 §5, RFC 8410 §5.
#[test]
fn the_key_usage_of_a_kems_certificate_must_allow_it() {
    let root = root("root");
    let verifier = trusting(&root);
    let of_ml_kem: [&[KeyUsagePurpose]; 3] =
        [&[], &[KeyEncipherment], &[KeyEncipherment, DataEncipherment]];
    let of_x25519: [&[KeyUsagePurpose]; 4] =
        [&[], &[KeyAgreement], &[KeyAgreement, EncipherOnly], &[KeyAgreement, DecipherOnly]];
    let of_neither: [&[KeyUsagePurpose]; 2] = [&[DigitalSignature], &[DataEncipherment]];
    for scheme in ALL {
        let (good, bad) = match scheme {
            SignatureScheme::KEM_X25519 => (&of_x25519[..], &of_ml_kem[1..]),
            _ => (&of_ml_kem[..], &of_x25519[1..]),
        };
        let peers = |usages: &[KeyUsagePurpose]| {
            let server = KemPeer::new(&with_usage(usages, server_params()), scheme, &root);
            let params = with_usage(usages, client_params(&["a.example"]));
            let client = KemPeer::new(&params, scheme, &root);
            [(server.as_server(), server), (client.as_client(), client)]
        };
        for (question, peer) in good.iter().flat_map(|usages| peers(usages)) {
            assert_accepted(&verifier, &peer, &question);
        }
        for (question, _) in bad.iter().chain(&of_neither).flat_map(|usages| peers(usages)) {
            refused(&verifier, &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
        }
    }
}

#[test]
fn a_configuration_with_a_kems_certificate_can_be_checked() {
    let root = root("root");
    let would = |verifier: tessera_webpki::WebPkiVerifier, usage| {
        let params = with_usage(&[usage], server_params());
        let server = KemPeer::new(&params, SignatureScheme::KEM_MLKEM768, &root);
        let name = Some("server.example");
        verifier
            .would_accept(Role::Server, &server.chain, name, NOW)
            .map_err(|rejected| rejected.alert)
    };
    let unsupported = Err(AlertDescription::UNSUPPORTED_CERTIFICATE);
    assert_eq!(would(trusting(&root), KeyEncipherment), Ok(()));
    assert_eq!(would(trusting(&root), DigitalSignature), unsupported);
    assert_eq!(would(crate::pki::trusting(&root), KeyEncipherment), unsupported);
}

/// RFC 8446 §4.4.3, docs/kem-auth.md §4: the proof is of the kind of the key.
#[test]
fn a_key_that_signs_is_of_no_kem_and_the_reverse() {
    let root = root("root");
    let verifier = trusting(&root);
    let signing = Peer::new(&server_params(), &root).as_server();
    assert_eq!(verifier.kem_scheme(&super::asked(&signing)), None);
    assert!(judge(&verifier, &signing).unwrap().public_key.is_none());
    let server = KemPeer::new(&server_params(), SignatureScheme::KEM_X25519, &root);
    let decapsulating = with(signing.clone(), |it| it.proof = server.as_server().proof);
    refused(&verifier, &decapsulating, AlertDescription::UNSUPPORTED_CERTIFICATE);
    let signed = with(server.as_server(), |it| it.proof = signing.proof);
    refused(&verifier, &signed, AlertDescription::ILLEGAL_PARAMETER);
}
