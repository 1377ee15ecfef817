//! The key usage of end entities (RFC 8446 §4.4.2.2).

use rcgen::{CertificateParams, KeyUsagePurpose};
use tessera::wire::AlertDescription;
use tessera_webpki::Algorithms;

use crate::pki::{Peer, client_params, judge, refused, root, server_params, trusting};

use KeyUsagePurpose::{
    ContentCommitment, DataEncipherment, DigitalSignature, EncipherOnly, KeyAgreement,
    KeyEncipherment,
};

fn with(usages: &[KeyUsagePurpose], mut params: CertificateParams) -> CertificateParams {
    params.key_usages = usages.to_vec();
    params
}

#[test]
fn a_key_usage_that_allows_signatures_is_accepted() {
    let root = root("root");
    let verifier = trusting(&root);
    for usages in [
        &[][..],
        &[DigitalSignature],
        &[DigitalSignature, KeyEncipherment],
        &[KeyAgreement, DigitalSignature, ContentCommitment],
    ] {
        let server = Peer::new(&with(usages, server_params()), &root);
        assert!(judge(&verifier, &server.as_server()).is_ok(), "{usages:?}");
        let client = Peer::new(&with(usages, client_params(&["a.example"])), &root);
        assert!(judge(&verifier, &client.as_client()).is_ok(), "{usages:?}");
    }
}

#[test]
fn a_key_usage_that_does_not_allow_signatures_is_refused() {
    let root = root("root");
    let verifier = trusting(&root);
    for usages in [
        &[KeyEncipherment][..],
        &[ContentCommitment],
        &[KeyAgreement, EncipherOnly],
        &[KeyEncipherment, DataEncipherment],
    ] {
        let server = Peer::new(&with(usages, server_params()), &root);
        refused(&verifier, &server.as_server(), AlertDescription::UNSUPPORTED_CERTIFICATE);
        let client = Peer::new(&with(usages, client_params(&["a.example"])), &root);
        refused(&verifier, &client.as_client(), AlertDescription::UNSUPPORTED_CERTIFICATE);
    }
}

/// An authority's key usage covers certificate signatures, not handshakes.
#[test]
fn the_key_usage_of_an_intermediate_may_lack_digital_signature() {
    let root = root("root");
    let key = rcgen::KeyPair::generate().unwrap();
    let params = crate::pki::ca_params("below");
    let below = rcgen::CertifiedIssuer::signed_by(params, key, &root).unwrap();
    let mut peer = Peer::new(&with(&[DigitalSignature], server_params()), &below);
    peer.chain.push(below.der().to_vec());
    assert!(judge(&trusting(&root), &peer.as_server()).is_ok());
}

/// A key usage whose value is no BIT STRING, or an empty one.
#[test]
fn a_malformed_key_usage_is_refused() {
    let root = root("root");
    for (value, alert) in [
        (&[4, 1, 0x80][..], AlertDescription::BAD_CERTIFICATE),
        (&[3, 2, 9, 0x80], AlertDescription::BAD_CERTIFICATE),
        (&[3, 1, 0], AlertDescription::UNSUPPORTED_CERTIFICATE),
    ] {
        let extension = rcgen::CustomExtension::from_oid_content(&[2, 5, 29, 15], value.to_vec());
        let mut params = server_params();
        params.custom_extensions = vec![extension];
        let peer = Peer::new(&params, &root);
        refused(&trusting(&root), &peer.as_server(), alert);
    }
}

/// Unknown extensions are ignored, whatever their identifiers: an arc of 2.25 is a UUID (ITU-T X.667), and
/// organisations nest deep.
#[test]
fn unknown_extensions_with_long_names_are_ignored() {
    let root = root("root");
    let long: Vec<u64> = [2, 25].into_iter().chain((0..60).map(|arc| 1 << 40 | arc)).collect();
    for oid in [&[1, 3, 6, 1, 4, 1, 311, 21, 7][..], &[2, 25, u64::MAX], &long] {
        let mut params = with(&[DigitalSignature], server_params());
        let extension = rcgen::CustomExtension::from_oid_content(oid, vec![5, 0]);
        params.custom_extensions = vec![extension];
        let peer = Peer::new(&params, &root);
        assert_eq!(judge(&trusting(&root), &peer.as_server()).err(), None, "{oid:?}");
    }
}

/// An owner that knows the certificate itself checks no chain, but still the key's usage.
#[test]
fn key_usage_counts_for_a_signature_without_a_chain_too() {
    let root = root("root");
    let signed = |usages| {
        let peer = Peer::new(&with(usages, server_params()), &root);
        Algorithms::AWS_LC.verify_signature(&peer.as_server()).map_err(|rejected| rejected.alert)
    };
    assert_eq!(signed(&[DigitalSignature]), Ok(()));
    assert_eq!(signed(&[KeyEncipherment]), Err(AlertDescription::UNSUPPORTED_CERTIFICATE));
}
