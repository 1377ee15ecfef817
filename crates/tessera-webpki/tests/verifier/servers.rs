//! Chains, names and times of servers.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use tessera::Role;
use tessera::auth::PeerVerifier;
use tessera::wire::AlertDescription;
use tessera_webpki::{Algorithms, WebPkiVerifier};

use crate::pki::{
    BEFORE, Ca, NOT_AFTER, NOW, Peer, ca_params, client_params, judge, refused, root,
    server_params, trusting, with,
};

fn intermediate(name: &str, root: &Ca) -> Ca {
    let mut params = ca_params(name);
    params.not_before = date_time_ymd(2030, 1, 1);
    params.not_after = date_time_ymd(2030, 6, 1);
    CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), root).unwrap()
}

#[test]
fn a_good_server_certificate_gives_its_name_and_expiry() {
    let root = root("root");
    let identity =
        judge(&trusting(&root), &Peer::new(&server_params(), &root).as_server()).unwrap();
    assert_eq!(identity.blob, b"server.example");
    assert_eq!(identity.expires_at, Some(NOT_AFTER));
}

#[test]
fn a_server_certificate_counts_for_its_ip_address_alone() {
    let root = root("root");
    let peer = Peer::new(&server_params(), &root);
    let named = |name: &str| with(peer.as_server(), |it| it.server_name = Some(name.into()));
    assert_eq!(judge(&trusting(&root), &named("192.0.2.1")).unwrap().blob, b"192.0.2.1");
    refused(&trusting(&root), &named("192.0.2.2"), AlertDescription::BAD_CERTIFICATE);
}

#[test]
fn a_wildcard_of_a_server_certificate_covers_one_label() {
    let root = root("root");
    let mut params = server_params();
    params.subject_alt_names = vec![rcgen::SanType::DnsName("*.wild.example".try_into().unwrap())];
    let peer = Peer::new(&params, &root);
    let named = |name: &str| with(peer.as_server(), |it| it.server_name = Some(name.into()));
    assert!(judge(&trusting(&root), &named("a.wild.example")).is_ok());
    refused(&trusting(&root), &named("a.b.wild.example"), AlertDescription::BAD_CERTIFICATE);
}

#[test]
fn a_process_learns_whether_its_peers_would_accept_its_own_chain() {
    let (root, other) = (root("root"), root("other"));
    let would = |params: &CertificateParams, role, name, unix| {
        let chain = Peer::new(params, &root).chain;
        trusting(&root).would_accept(role, &chain, name, unix).map_err(|rejected| rejected.alert)
    };
    let (server, client) = (server_params(), client_params(&["client.example"]));
    let name = Some("server.example");
    assert_eq!(would(&server, Role::Server, name, NOW), Ok(()));
    assert_eq!(would(&client, Role::Client, None, NOW), Ok(()));
    for (params, role, name, unix) in [
        (&server, Role::Server, Some("other.example"), NOW),
        (&server, Role::Server, None, NOW),
        (&server, Role::Server, name, NOT_AFTER + 1),
        (&server, Role::Client, None, NOW),
        (&client, Role::Server, Some("client.example"), NOW),
    ] {
        assert!(would(params, role, name, unix).is_err(), "{role:?} {name:?} {unix}");
    }
    let chain = Peer::new(&server, &other).chain;
    let unknown = trusting(&root).would_accept(Role::Server, &chain, name, NOW).unwrap_err();
    assert_eq!(unknown.alert, AlertDescription::UNKNOWN_CA);
}

#[test]
fn a_server_certificate_for_another_name_is_refused() {
    let root = root("root");
    let question = with(Peer::new(&server_params(), &root).as_server(), |it| {
        it.server_name = Some("other.example".into())
    });
    refused(&trusting(&root), &question, AlertDescription::BAD_CERTIFICATE);
}

#[test]
fn a_refusal_for_its_names_has_the_certificates_and_the_one_that_was_asked_for() {
    use rcgen::SanType::{DnsName, IpAddress, URI};

    let root = root("root");
    let reason = |names: Vec<rcgen::SanType>| {
        let mut params = server_params();
        params.subject_alt_names = names;
        let question = with(Peer::new(&params, &root).as_server(), |it| {
            it.server_name = Some("other.example".into())
        });
        judge(&trusting(&root), &question).unwrap_err().reason
    };
    let dns = |name: &str| DnsName(name.try_into().unwrap());
    let names = vec![
        dns("a.example"),
        IpAddress("2001:db8::1".parse().unwrap()),
        IpAddress("::1".parse().unwrap()),
        URI("urn:b".try_into().unwrap()),
    ];
    let expected = "certificate: it is for other names: a.example, 2001:db8::1, ::1, urn:b; not for other.example";
    assert_eq!(reason(names), expected);
    // Names chosen by a peer are shown truncated, and can't control a terminal.
    let hostile = format!("\u{1b}[2J\r\n\"{}", "x".repeat(300));
    let told = reason(vec![dns(&hostile); 100]);
    assert!(told.len() < 1000 && told.contains("95 more"), "{told}");
    assert!(told.contains(r#"\u{1b}[2J\r\n\"xxx"#) && !told.contains(char::is_control), "{told}");
}

#[test]
fn a_question_without_a_valid_name_or_time_accepts_no_server() {
    let root = root("root");
    let good = Peer::new(&server_params(), &root).as_server();
    for question in [
        with(good.clone(), |it| it.server_name = None),
        with(good.clone(), |it| it.server_name = Some("not a name".into())),
        with(good, |it| it.unix = None),
    ] {
        refused(&trusting(&root), &question, AlertDescription::INTERNAL_ERROR);
    }
}

#[test]
fn a_server_certificate_is_accepted_during_its_validity_alone() {
    let root = root("root");
    let good = Peer::new(&server_params(), &root).as_server();
    let at = |unix| with(good.clone(), |it| it.unix = Some(unix));
    assert!(judge(&trusting(&root), &at(BEFORE + 1)).is_ok());
    assert!(judge(&trusting(&root), &at(NOT_AFTER)).is_ok());
    for unix in [0, BEFORE, NOT_AFTER + 1, u64::MAX] {
        refused(&trusting(&root), &at(unix), AlertDescription::CERTIFICATE_EXPIRED);
    }
}

#[test]
fn a_server_certificate_of_an_unknown_authority_is_refused() {
    let peer = Peer::new(&server_params(), &root("elsewhere"));
    refused(&trusting(&root("root")), &peer.as_server(), AlertDescription::UNKNOWN_CA);
}

#[test]
fn a_server_certificate_of_another_authority_of_the_same_name_is_refused() {
    let peer = Peer::new(&server_params(), &root("root"));
    refused(&trusting(&root("root")), &peer.as_server(), AlertDescription::BAD_CERTIFICATE);
}

#[test]
fn a_self_signed_server_certificate_is_refused() {
    let key = KeyPair::generate().unwrap();
    let der = server_params().self_signed(&key).unwrap().der().to_vec();
    let peer = Peer { key, chain: vec![der] };
    refused(&trusting(&root("root")), &peer.as_server(), AlertDescription::UNKNOWN_CA);
}

#[test]
fn a_server_certificate_with_another_extended_key_usage_is_refused() {
    let root = root("root");
    let client = Peer::new(&client_params(&["server.example"]), &root);
    refused(&trusting(&root), &client.as_server(), AlertDescription::UNSUPPORTED_CERTIFICATE);

    let mut params = server_params();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    let signer = Peer::new(&params, &root);
    refused(&trusting(&root), &signer.as_server(), AlertDescription::UNSUPPORTED_CERTIFICATE);
}

#[test]
fn an_authoritys_certificate_is_refused_as_a_servers() {
    let root = root("root");
    let mut params = server_params();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let peer = Peer::new(&params, &root);
    refused(&trusting(&root), &peer.as_server(), AlertDescription::UNSUPPORTED_CERTIFICATE);
}

#[test]
fn intermediates_of_a_server_may_come_in_any_order() {
    let root = root("root");
    let upper = intermediate("upper", &root);
    let lower = intermediate("lower", &upper);
    let mut peer = Peer::new(&server_params(), &lower);
    let end_entity = peer.chain[0].clone();

    refused(&trusting(&root), &peer.as_server(), AlertDescription::UNKNOWN_CA);
    for order in [[&upper, &lower], [&lower, &upper]] {
        peer.chain = vec![end_entity.clone(), order[0].der().to_vec(), order[1].der().to_vec()];
        let identity = judge(&trusting(&root), &peer.as_server()).unwrap();
        // 2030-06-01, when the intermediates expire: before the end entity does.
        assert_eq!(identity.expires_at, Some(1_906_502_400));
    }
    let late = with(peer.as_server(), |it| it.unix = Some(1_906_502_401));
    refused(&trusting(&root), &late, AlertDescription::CERTIFICATE_EXPIRED);
}

#[test]
fn certificates_off_the_path_do_not_shorten_an_identitys_life() {
    let root = root("root");
    let mut peer = Peer::new(&server_params(), &root);
    peer.chain.push(intermediate("unused", &root).der().to_vec());
    let identity = judge(&trusting(&root), &peer.as_server()).unwrap();
    assert_eq!(identity.expires_at, Some(NOT_AFTER));
}

#[test]
fn a_certificate_issued_by_an_end_entity_is_refused() {
    let root = root("root");
    let mut params = server_params();
    params.distinguished_name.push(rcgen::DnType::CommonName, "no ca");
    let issuer = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root).unwrap();
    let mut peer = Peer::new(&server_params(), &issuer);
    peer.chain.push(issuer.der().to_vec());
    refused(&trusting(&root), &peer.as_server(), AlertDescription::BAD_CERTIFICATE);
}

#[test]
fn name_constraints_of_an_intermediate_are_kept() {
    let root = root("root");
    let mut params = ca_params("constrained");
    params.name_constraints = Some(rcgen::NameConstraints {
        permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("other.example".into())],
        excluded_subtrees: vec![],
    });
    let issuer = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root).unwrap();
    let mut peer = Peer::new(&server_params(), &issuer);
    peer.chain.push(issuer.der().to_vec());
    refused(&trusting(&root), &peer.as_server(), AlertDescription::BAD_CERTIFICATE);
}

#[test]
fn a_server_certificate_that_is_garbage_is_refused() {
    let root = root("root");
    let good = Peer::new(&server_params(), &root);
    for der in [vec![], b"garbage".to_vec(), good.chain[0][1..].to_vec(), {
        let mut trailing = good.chain[0].clone();
        trailing.push(0);
        trailing
    }] {
        let question = with(good.as_server(), |it| it.chain = vec![der]);
        refused(&trusting(&root), &question, AlertDescription::BAD_CERTIFICATE);
    }
    // Nor is a chain of which only the hash was sent.
    for (known, alert) in
        [(None, AlertDescription::DECODE_ERROR), (Some([7; 32]), AlertDescription::BAD_CERTIFICATE)]
    {
        let question = with(good.as_server(), |it| (it.chain, it.known) = (vec![], known));
        refused(&trusting(&root), &question, alert);
        let refused = Algorithms::AWS_LC.verify_signature(&question).unwrap_err();
        assert_eq!(refused.alert, AlertDescription::DECODE_ERROR);
    }
}

/// No truncation and no flipped bit of a certificate is accepted, and none panics.
#[test]
fn a_server_certificate_that_is_truncated_or_flipped_is_refused() {
    let root = root("root");
    let verifier = trusting(&root);
    let good = Peer::new(&server_params(), &root).as_server();
    let der = &good.chain[0];
    for length in 0..der.len() {
        let question = with(good.clone(), |it| it.chain = vec![der[..length].to_vec()]);
        assert!(judge(&verifier, &question).is_err(), "cut to {length}");
    }
    for bit in 0..der.len() * 8 {
        let mut der = der.clone();
        der[bit / 8] ^= 1 << (bit % 8);
        let question = with(good.clone(), |it| it.chain = vec![der]);
        assert!(judge(&verifier, &question).is_err(), "bit {bit}");
    }
}

#[test]
fn a_server_whose_name_a_wrapper_judges_is_known_by_all_names_and_is_no_client() {
    let root = root("root");
    let verifier =
        || WebPkiVerifier::new(&[root.der()]).unwrap().leaving_server_names_to_a_wrapper();
    let mut params = server_params();
    let uri = rcgen::SanType::URI("spiffe://x/Y".try_into().unwrap());
    params.subject_alt_names =
        vec![rcgen::SanType::DnsName("server.example".try_into().unwrap()), uri];
    let peer = Peer::new(&params, &root);
    for name in [None, Some("other.example".to_owned())] {
        let question = with(peer.as_server(), |it| it.server_name = name);
        let identity = judge(&verifier(), &question).unwrap();
        assert_eq!(identity.blob, b"dns:server.example uri:spiffe://x/Y");
    }
    let client = Peer::new(&client_params(&["server.example"]), &root);
    refused(&verifier(), &client.as_server(), AlertDescription::UNSUPPORTED_CERTIFICATE);
    assert!(verifier().policy() != WebPkiVerifier::new(&[root.der()]).unwrap().policy());
}
