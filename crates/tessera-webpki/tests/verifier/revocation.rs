//! Revocation lists.

use rcgen::{CertifiedIssuer, KeyPair, SerialNumber};
use tessera::wire::AlertDescription;
use tessera_webpki::{ConfigError, UnknownStatus, WebPkiVerifier};

use crate::pki::{
    Ca, Peer, ca_params, client_params, crl, judge, refused, root, root_with, server_params,
    trusting, with,
};

/// 2030-12-15: the certificates are valid, the lists past their nextUpdate.
const LISTS_ARE_OLD: u64 = 1_923_523_200;

fn checking(root: &Ca, crls: &[Vec<u8>], unknown: UnknownStatus) -> WebPkiVerifier {
    trusting(root).with_crls(crls, unknown).unwrap()
}

#[test]
fn a_revoked_certificate_is_refused() {
    let root = root("root");
    for unknown in [UnknownStatus::Reject, UnknownStatus::Accept] {
        let verifier = checking(&root, &[crl(&root, &[7])], unknown);
        let server = Peer::new(&server_params(), &root).as_server();
        refused(&verifier, &server, AlertDescription::CERTIFICATE_REVOKED);
        let client = Peer::new(&client_params(&["client.example"]), &root).as_client();
        refused(&verifier, &client, AlertDescription::CERTIFICATE_REVOKED);
    }
}

#[test]
fn a_certificate_next_to_a_revoked_one_is_accepted() {
    let root = root("root");
    let verifier = checking(&root, &[crl(&root, &[8])], UnknownStatus::Reject);
    assert!(judge(&verifier, &Peer::new(&server_params(), &root).as_server()).is_ok());
}

#[test]
fn a_chain_with_a_revoked_intermediate_is_refused() {
    let root = root("root");
    let mut params = ca_params("intermediate");
    params.serial_number = Some(SerialNumber::from(9_u64));
    let issuer = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root).unwrap();
    let mut peer = Peer::new(&server_params(), &issuer);
    peer.chain.push(issuer.der().to_vec());
    let lists = [crl(&root, &[9]), crl(&issuer, &[])];
    let verifier = checking(&root, &lists, UnknownStatus::Reject);
    refused(&verifier, &peer.as_server(), AlertDescription::CERTIFICATE_REVOKED);

    let lists = [crl(&root, &[]), crl(&issuer, &[])];
    assert!(judge(&checking(&root, &lists, UnknownStatus::Reject), &peer.as_server()).is_ok());
}

#[test]
fn a_certificate_of_unknown_status_is_judged_as_configured() {
    let root = root("root");
    let lists = [crl(&crate::pki::root("elsewhere"), &[7])];
    let question = Peer::new(&server_params(), &root).as_server();
    let strict = checking(&root, &lists, UnknownStatus::Reject);
    refused(&strict, &question, AlertDescription::CERTIFICATE_UNKNOWN);
    assert!(judge(&checking(&root, &lists, UnknownStatus::Accept), &question).is_ok());
}

#[test]
fn an_old_revocation_list_still_revokes_and_states_nothing_else() {
    let root = root("root");
    let question =
        with(Peer::new(&server_params(), &root).as_server(), |it| it.unix = Some(LISTS_ARE_OLD));
    let strict = checking(&root, &[crl(&root, &[])], UnknownStatus::Reject);
    refused(&strict, &question, AlertDescription::CERTIFICATE_UNKNOWN);
    let reason = judge(&strict, &question).unwrap_err().reason;
    assert!(reason.ends_with("the revocation list that covers it is out of date"), "{reason}");
    let lenient = checking(&root, &[crl(&root, &[])], UnknownStatus::Accept);
    assert!(judge(&lenient, &question).is_ok());
    let lenient = checking(&root, &[crl(&root, &[7])], UnknownStatus::Accept);
    refused(&lenient, &question, AlertDescription::CERTIFICATE_REVOKED);
}

/// An intermediate's key is known only once a peer presents its certificate.
#[test]
fn a_forged_revocation_list_accepts_no_one() {
    let root = root("root");
    let key = KeyPair::generate().unwrap();
    let issuer = CertifiedIssuer::signed_by(ca_params("intermediate"), key, &root).unwrap();
    let mut peer = Peer::new(&server_params(), &issuer);
    peer.chain.push(issuer.der().to_vec());
    let lists = [crl(&root, &[]), crl(&crate::pki::root("intermediate"), &[])];
    let question = peer.as_server();
    for unknown in [UnknownStatus::Reject, UnknownStatus::Accept] {
        let verifier = checking(&root, &lists, unknown);
        refused(&verifier, &question, AlertDescription::CERTIFICATE_UNKNOWN);
    }
}

#[test]
fn a_revocation_list_in_a_roots_name_that_it_has_not_signed_is_refused_by_the_configuration() {
    let (one, namesake) = (root("root"), root("root"));
    let of = |roots: &[&Ca], list: Vec<u8>| {
        let roots: Vec<_> = roots.iter().map(|root| root.der()).collect();
        let verifier = WebPkiVerifier::new(&roots).unwrap();
        verifier.with_crls(&[list], UnknownStatus::Accept).map(|_| ())
    };
    assert_eq!(of(&[&one], crl(&namesake, &[])), Err(ConfigError::CrlSignature));
    assert_eq!(of(&[&one, &namesake], crl(&namesake, &[])), Ok(()));
    for algorithm in [&rcgen::PKCS_ED25519, &rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_RSA_SHA256]
    {
        let root = root_with("root", algorithm);
        assert_eq!(of(&[&root], crl(&root, &[7])), Ok(()));
        let mut changed = crl(&root, &[7]);
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(of(&[&root], changed), Err(ConfigError::CrlSignature));
    }
}

#[test]
fn revocation_lists_that_can_not_be_used_are_refused_by_the_configuration() {
    let root = root("root");
    let with = |crls: &[&[u8]], unknown| trusting(&root).with_crls(crls, unknown).unwrap_err();
    let garbage = with(&[b"garbage"], UnknownStatus::Accept);
    assert_eq!(garbage, ConfigError::Crl("it is malformed".into()));
    assert_eq!(with(&[], UnknownStatus::Reject), ConfigError::NoCrls);
    let none = trusting(&root).with_crls::<Vec<u8>>(&[], UnknownStatus::Accept).unwrap();
    assert!(judge(&none, &Peer::new(&server_params(), &root).as_server()).is_ok());
}
