//! Certificates that are trusted themselves.

use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use tessera::auth::VerifyPeer;
use tessera::wire::AlertDescription;
use tessera_webpki::WebPkiVerifier;

use crate::pki::{
    BEFORE, Ca, NOT_AFTER, Peer, ca_params, client_params, judge, refused, root, server_params,
    trusting, with,
};

/// Makes a self-signed certificate, like that of Debian's `make-ssl-cert`, `ssl-cert-snakeoil.pem`.
fn own(params: CertificateParams) -> (Peer, Ca) {
    let key = KeyPair::generate().unwrap();
    let copy = KeyPair::try_from(key.serialized_der()).unwrap();
    let ca = CertifiedIssuer::self_signed(params, key).unwrap();
    (Peer { key: copy, chain: vec![ca.der().to_vec()] }, ca)
}

fn snakeoil() -> CertificateParams {
    let mut params = server_params();
    params.is_ca = IsCa::ExplicitNoCa;
    params.extended_key_usages.clear();
    params
}

fn as_ca(is_ca: IsCa, mut params: CertificateParams) -> CertificateParams {
    params.is_ca = is_ca;
    params
}

fn at(question: VerifyPeer, unix: u64) -> VerifyPeer {
    with(question, |it| it.unix = Some(unix))
}

#[test]
fn a_servers_certificate_that_is_trusted_vouches_for_itself() {
    for is_ca in [IsCa::ExplicitNoCa, IsCa::NoCa, ca_params("it").is_ca] {
        let (peer, own) = own(as_ca(is_ca, snakeoil()));
        let verifier = trusting(&own);
        let identity = judge(&verifier, &peer.as_server()).unwrap();
        assert_eq!(identity.blob, b"server.example");
        assert_eq!(identity.expires_at, Some(NOT_AFTER));
        judge(&verifier, &peer.as_client()).unwrap();
    }
}

#[test]
fn a_trusted_server_certificate_vouches_for_no_other() {
    for is_ca in [IsCa::ExplicitNoCa, IsCa::NoCa] {
        let (_, own) = own(as_ca(is_ca, snakeoil()));
        let others = Peer::new(&server_params(), &own);
        refused(&trusting(&own), &others.as_server(), AlertDescription::UNKNOWN_CA);
        // Next to an authority of the same name, neither disturbs the other.
        let mut params = ca_params("authority");
        params.distinguished_name = snakeoil().distinguished_name;
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let verifier = WebPkiVerifier::new(&[own.der(), authority.der()]).unwrap();
        refused(&verifier, &others.as_server(), AlertDescription::BAD_CERTIFICATE);
        judge(&verifier, &Peer::new(&server_params(), &authority).as_server()).unwrap();
    }
}

#[test]
fn a_certificate_that_is_not_trusted_but_has_a_trusted_ones_name_is_unknown() {
    // With another kind of key, the signature's algorithm doesn't fit either.
    let rsa = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
    let trusted = CertifiedIssuer::self_signed(snakeoil(), rsa).unwrap();
    let verifier = WebPkiVerifier::new(&[trusted.der(), root("root").der()]).unwrap();
    let (impostor, _) = own(snakeoil());
    refused(&verifier, &impostor.as_server(), AlertDescription::UNKNOWN_CA);
}

#[test]
fn a_trusted_certificate_must_be_valid_and_for_this_name_and_use() {
    for is_ca in [IsCa::ExplicitNoCa, ca_params("it").is_ca] {
        let (peer, certificate) = own(as_ca(is_ca, snakeoil()));
        let verifier = trusting(&certificate);
        let question = peer.as_server();
        for unix in [BEFORE, NOT_AFTER + 1] {
            let question = at(question.clone(), unix);
            refused(&verifier, &question, AlertDescription::CERTIFICATE_EXPIRED);
        }
        let other_name = with(question, |it| it.server_name = Some("other.example".into()));
        refused(&verifier, &other_name, AlertDescription::BAD_CERTIFICATE);

        let params = as_ca(is_ca, client_params(&["c.example"]));
        let (client, certificate) = own(params);
        let verifier = trusting(&certificate);
        judge(&verifier, &client.as_client()).unwrap();
        let as_server = with(client.as_server(), |it| it.server_name = Some("c.example".into()));
        refused(&verifier, &as_server, AlertDescription::UNSUPPORTED_CERTIFICATE);

        let mut params = as_ca(is_ca, snakeoil());
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::CodeSigning, ExtendedKeyUsagePurpose::ServerAuth];
        let (server, certificate) = own(params);
        judge(&trusting(&certificate), &server.as_server()).unwrap();
        refused(
            &trusting(&certificate),
            &server.as_client(),
            AlertDescription::UNSUPPORTED_CERTIFICATE,
        );
    }
}

#[test]
fn a_peer_with_a_trusted_certificate_needs_its_key() {
    let (peer, certificate) = own(snakeoil());
    let thief = Peer { key: KeyPair::generate().unwrap(), chain: peer.chain };
    refused(&trusting(&certificate), &thief.as_server(), AlertDescription::DECRYPT_ERROR);
}
