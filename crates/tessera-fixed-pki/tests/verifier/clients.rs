//! Clients and their identities.

use rcgen::{DistinguishedName, DnType, SanType};
use tessera_fixed_pki::{Defect, FixedPkiVerifier};

use crate::pki::{ALGORITHMS, Both, Peer, anchor, client_params, judge, root, server_params};

#[test]
fn clients_have_the_identities_that_webpki_gives_them() {
    let root = root();
    let both = Both::new(&[&root]);
    let identity = |names: Vec<SanType>| {
        let mut params = client_params(&[]);
        params.subject_alt_names = names;
        both.accept(&Peer::new(&params, &root).as_client()).blob
    };
    let dns = |name: &str| SanType::DnsName(name.try_into().unwrap());
    let uri = |name: &str| SanType::URI(name.try_into().unwrap());
    assert_eq!(identity(vec![dns("B.example"), dns("a.example")]), b"dns:a.example dns:b.example");
    assert_eq!(identity(vec![uri("spiffe://x/Y"), dns("z")]), b"dns:z uri:spiffe://x/Y");
    assert_eq!(identity(vec![dns("a.b.c"), dns("A.b.c"), dns("a.b.c")]), b"dns:a.b.c");
    assert_eq!(
        identity(vec![dns("*.b.c"), dns("a.b."), dns("not a name"), dns("*.c")]),
        b"dns:*.b.c dns:a.b."
    );
    let subject = identity(vec![SanType::IpAddress([192, 0, 2, 1].into())]);
    assert!(subject.starts_with(b"subject:"));
}

#[test]
fn a_client_without_a_name_of_its_own_is_refused() {
    let root = root();
    let both = Both::new(&[&root]);
    let refuse = |names: Vec<SanType>, defect| {
        let mut params = client_params(&[]);
        params.distinguished_name = DistinguishedName::new();
        params.subject_alt_names = names;
        both.refuse(&Peer::new(&params, &root).as_client(), defect);
    };
    refuse(vec![], Defect::NoNames);
    refuse(vec![SanType::URI("a b".try_into().unwrap())], Defect::Malformed);
    let names = |count| -> Vec<_> {
        (0..count)
            .map(|at| SanType::DnsName(format!("{at:07}.example").try_into().unwrap()))
            .collect()
    };
    // Each takes 19 bytes, and a space follows all but the last.
    refuse(names(52), Defect::LongNames);
    let mut params = client_params(&[]);
    params.subject_alt_names = names(51);
    assert_eq!(both.accept(&Peer::new(&params, &root).as_client()).blob.len(), 51 * 20 - 1);

    let mut params = client_params(&[]);
    params.distinguished_name.push(DnType::OrganizationName, "x".repeat(1100));
    both.refuse(&Peer::new(&params, &root).as_client(), Defect::LongNames);
}

#[test]
fn clients_are_accepted_on_request() {
    let root = root();
    let verifier = FixedPkiVerifier::new(vec![anchor(root.der())], ALGORITHMS).unwrap();
    let client = Peer::new(&client_params(&["a.example"]), &root).as_client();
    assert_eq!(judge(&verifier, &client), Err(Defect::IsClient.into()));
    assert!(judge(&verifier, &Peer::new(&server_params(), &root).as_server()).is_ok());
    assert!(judge(&verifier.accepting_clients(), &client).is_ok());
}
