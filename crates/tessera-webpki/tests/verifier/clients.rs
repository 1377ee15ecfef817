//! Clients and their identities.

use rcgen::{DistinguishedName, DnType, SanType};
use tessera::auth::PeerIdentity;
use tessera::wire::AlertDescription;

use crate::pki::{
    NOT_AFTER, Peer, client_params, judge, refused, root, server_params, trusting, with,
};

#[test]
fn good() {
    let root = root("root");
    let peer = Peer::new(&client_params(&["client.example"]), &root);
    let identity = judge(&trusting(&root), &peer.as_client()).unwrap();
    assert_eq!(identity.blob, b"dns:client.example");
    assert_eq!(identity.expires_at, Some(NOT_AFTER));
}

#[test]
fn server_certificate_is_no_client_certificate() {
    let root = root("root");
    let peer = Peer::new(&server_params(), &root);
    refused(&trusting(&root), &peer.as_client(), AlertDescription::UNSUPPORTED_CERTIFICATE);
}

#[test]
fn no_time() {
    let root = root("root");
    let question =
        with(Peer::new(&client_params(&["a.example"]), &root).as_client(), |it| it.unix = None);
    refused(&trusting(&root), &question, AlertDescription::INTERNAL_ERROR);
}

#[test]
fn identity_of_many_names_has_one_order() {
    let root = root("root");
    let mut params = client_params(&["b.example", "A.example", "a.example"]);
    params.subject_alt_names.push(SanType::URI("spiffe://x/Y".try_into().unwrap()));
    let identity = judge(&trusting(&root), &Peer::new(&params, &root).as_client()).unwrap();
    assert_eq!(identity.blob, b"dns:a.example dns:b.example uri:spiffe://x/Y");
}

#[test]
fn identity_by_subject() {
    let root = root("root");
    let mut params = client_params(&[]);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "me");
    let identity = judge(&trusting(&root), &Peer::new(&params, &root).as_client()).unwrap();
    // One RDN: id-at-commonName (2.5.4.3) as UTF8String.
    assert_eq!(identity.blob, b"subject:\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x02me");
}

#[test]
fn nobody() {
    let root = root("root");
    let mut params = client_params(&[]);
    params.distinguished_name = DistinguishedName::new();
    let peer = Peer::new(&params, &root);
    refused(&trusting(&root), &peer.as_client(), AlertDescription::UNSUPPORTED_CERTIFICATE);
}

#[test]
fn uri_that_could_pass_for_more_names() {
    let root = root("root");
    let mut params = client_params(&["a.example"]);
    params.subject_alt_names.push(SanType::URI("x dns:admin.example".try_into().unwrap()));
    let peer = Peer::new(&params, &root);
    refused(&trusting(&root), &peer.as_client(), AlertDescription::BAD_CERTIFICATE);
}

#[test]
fn identity_is_bounded() {
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
