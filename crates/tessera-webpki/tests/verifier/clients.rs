//! Clients and their identities.

use rcgen::{DistinguishedName, DnType, SanType};
use tessera::auth::PeerIdentity;
use tessera::wire::AlertDescription;

use crate::pki::{
    NOT_AFTER, Peer, client_params, judge, refused, root, server_params, trusting, with,
};

#[test]
fn a_good_client_certificate_gives_its_dns_name_and_expiry() {
    let root = root("root");
    let peer = Peer::new(&client_params(&["client.example"]), &root);
    let identity = judge(&trusting(&root), &peer.as_client()).unwrap();
    assert_eq!(identity.blob, b"dns:client.example");
    assert_eq!(identity.expires_at, Some(NOT_AFTER));
}

#[test]
fn a_server_certificate_of_a_client_is_refused() {
    let root = root("root");
    let peer = Peer::new(&server_params(), &root);
    refused(&trusting(&root), &peer.as_client(), AlertDescription::UNSUPPORTED_CERTIFICATE);
}

#[test]
fn a_client_certificate_is_refused_without_a_clock() {
    let root = root("root");
    let question =
        with(Peer::new(&client_params(&["a.example"]), &root).as_client(), |it| it.unix = None);
    refused(&trusting(&root), &question, AlertDescription::INTERNAL_ERROR);
}

#[test]
fn a_clients_names_are_sorted_into_one_identity() {
    let root = root("root");
    let mut params = client_params(&["b.example", "A.example", "a.example"]);
    params.subject_alt_names.push(SanType::URI("spiffe://x/Y".try_into().unwrap()));
    let identity = judge(&trusting(&root), &Peer::new(&params, &root).as_client()).unwrap();
    assert_eq!(identity.blob, b"dns:a.example dns:b.example uri:spiffe://x/Y");
}

#[test]
fn a_client_without_alternative_names_is_known_by_its_subject() {
    let root = root("root");
    let mut params = client_params(&[]);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "me");
    let identity = judge(&trusting(&root), &Peer::new(&params, &root).as_client()).unwrap();
    // One RDN: id-at-commonName (2.5.4.3) as UTF8String.
    assert_eq!(identity.blob, b"subject:\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x02me");
}

#[test]
fn a_client_certificate_without_a_name_is_refused() {
    let root = root("root");
    let mut params = client_params(&[]);
    params.distinguished_name = DistinguishedName::new();
    let peer = Peer::new(&params, &root);
    refused(&trusting(&root), &peer.as_client(), AlertDescription::UNSUPPORTED_CERTIFICATE);
}

#[test]
fn a_client_uri_that_could_pass_for_more_names_is_refused() {
    let root = root("root");
    let mut params = client_params(&["a.example"]);
    params.subject_alt_names.push(SanType::URI("x dns:admin.example".try_into().unwrap()));
    let peer = Peer::new(&params, &root);
    refused(&trusting(&root), &peer.as_client(), AlertDescription::BAD_CERTIFICATE);
}

#[test]
fn a_client_identity_that_is_too_long_is_refused() {
    let root = root("root");
    let with_uri_of = |length| {
        let mut params = client_params(&[]);
        params.subject_alt_names = vec![SanType::URI("u".repeat(length).try_into().unwrap())];
        Peer::new(&params, &root)
    };
    let longest = PeerIdentity::MAX_LEN - "uri:".len();
    let identity = judge(&trusting(&root), &with_uri_of(longest).as_client()).unwrap();
    assert_eq!(identity.blob.len(), PeerIdentity::MAX_LEN);
    let question = with_uri_of(longest + 1).as_client();
    refused(&trusting(&root), &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
}
