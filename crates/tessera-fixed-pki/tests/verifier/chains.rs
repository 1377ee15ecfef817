//! The chains that both verifiers accept, or refuse alike, and those that this one alone refuses.

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    KeyUsagePurpose, NameConstraints, date_time_ymd,
};
use tessera_fixed_pki::Defect;

use crate::pki::{
    Both, Ca, NOT_AFTER, Peer, below, client_params, extension, judge, root, root_with,
    server_params, with,
};

/// Identifiers of extensions.
const KEY_USAGE: &[u64] = &[2, 5, 29, 15];
const SUBJECT_ALT_NAME: &[u64] = &[2, 5, 29, 17];
const BASIC_CONSTRAINTS: &[u64] = &[2, 5, 29, 19];
const CRL_DISTRIBUTION_POINTS: &[u64] = &[2, 5, 29, 31];
const CERTIFICATE_POLICIES: &[u64] = &[2, 5, 29, 32];
const EXTENDED_KEY_USAGE: &[u64] = &[2, 5, 29, 37];
const PRIVATE: &[u64] = &[1, 3, 6, 1, 4, 1, 55555, 1];

/// Returns a server of a root, with a changed certificate.
fn server(root: &Ca, change: impl FnOnce(&mut CertificateParams)) -> Peer {
    let mut params = server_params();
    change(&mut params);
    Peer::new(&params, root)
}

fn with_extension(root: &Ca, id: &[u64], is_critical: bool, value: &[u8]) -> Peer {
    server(root, |it| it.custom_extensions = vec![extension(id, is_critical, value)])
}

#[test]
fn a_chain_of_up_to_four_intermediates_is_accepted() {
    let root = root();
    let both = Both::new(&[&root]);
    let identity = both.accept(&server(&root, |_| ()).as_server());
    assert_eq!((identity.blob, identity.expires_at), (b"server.example".to_vec(), Some(NOT_AFTER)));

    let mut authorities = vec![root];
    for number in 1..=5 {
        let issuer = authorities.last().unwrap();
        authorities.push(below(&format!("authority {number}"), issuer, |_| ()));
        let path: Vec<&Ca> = authorities[1..].iter().rev().collect();
        let peer = server(authorities.last().unwrap(), |_| ()).above(&path);
        match number {
            ..=4 => drop(both.accept(&peer.as_server())),
            _ => both.refuse_alone(&peer.as_server(), Defect::TooManyCertificates),
        }
    }
}

#[test]
fn what_follows_the_path_to_an_anchor_is_ignored() {
    let root = root();
    let both = Both::new(&[&root]);
    let (used, unused) = (below("used", &root, |_| ()), below("unused", &root, |_| ()));
    let mut peer = server(&used, |_| ()).above(&[&used, &root, &unused]);
    both.accept(&peer.as_server());
    peer.chain.push(b"garbage".to_vec());
    both.accept(&peer.as_server());
}

#[test]
fn chains_are_judged_in_the_order_in_which_they_come() {
    let root = root();
    let both = Both::new(&[&root]);
    let upper = below("upper", &root, |_| ());
    let lower = below("lower", &upper, |_| ());
    let unused = below("unused", &root, |_| ());
    both.accept(&server(&lower, |_| ()).above(&[&lower, &upper]).as_server());
    for order in [&[&upper, &lower][..], &[&unused, &lower, &upper], &[&lower, &unused, &upper]] {
        let peer = server(&lower, |_| ()).above(order);
        both.refuse_alone(&peer.as_server(), Defect::UnknownIssuer);
    }
}

#[test]
fn a_chain_that_ends_before_an_anchor_is_refused() {
    let (root, other) = (
        root(),
        root_with(&rcgen::PKCS_ECDSA_P256_SHA256, |it| {
            it.distinguished_name.push(rcgen::DnType::CommonName, "other");
        }),
    );
    let both = Both::new(&[&root]);
    let upper = below("upper", &root, |_| ());
    let lower = below("lower", &upper, |_| ());
    both.refuse(&server(&lower, |_| ()).above(&[&lower]).as_server(), Defect::UnknownIssuer);
    both.refuse(&server(&lower, |_| ()).as_server(), Defect::UnknownIssuer);
    both.refuse(&server(&other, |_| ()).as_server(), Defect::UnknownIssuer);
    both.refuse(&server(&other, |_| ()).above(&[&other]).as_server(), Defect::UnknownIssuer);
    both.refuse(&server(&other, |_| ()).above(&[&root]).as_server(), Defect::UnknownIssuer);
}

#[test]
fn a_signature_of_another_authority_of_the_same_name_is_wrong() {
    let (root, impostor) = (root(), root());
    let both = Both::new(&[&root]);
    both.refuse(&server(&impostor, |_| ()).as_server(), Defect::Signature);
    both.refuse(&server(&impostor, |_| ()).above(&[&impostor]).as_server(), Defect::Signature);
    let between = below("between", &root, |_| ());
    let other_between = below("between", &root, |_| ());
    let peer = server(&other_between, |_| ()).above(&[&between]);
    both.refuse(&peer.as_server(), Defect::Signature);
    // Both roots are trusted: the right one is found, in any order.
    for roots in [[&root, &impostor], [&impostor, &root]] {
        let both = Both::new(&roots);
        both.accept(&server(&impostor, |_| ()).as_server());
        both.accept(&server(&between, |_| ()).above(&[&between]).as_server());
    }
}

/// A root that changed its key signed the new one with the old: devices have the old one.
#[test]
fn a_path_leads_through_an_authority_of_an_anchors_name() {
    let old = root();
    let new = below("root", &old, |_| ());
    let both = Both::new(&[&old]);
    both.accept(&server(&new, |_| ()).above(&[&new]).as_server());
    both.refuse(&server(&new, |_| ()).as_server(), Defect::Signature);
}

#[test]
fn issuers_are_authorities() {
    let root = root();
    let both = Both::new(&[&root]);
    for is_ca in [IsCa::NoCa, IsCa::ExplicitNoCa] {
        let issuer = below("no authority", &root, |it| it.is_ca = is_ca);
        let peer = server(&issuer, |_| ()).above(&[&issuer]);
        both.refuse(&peer.as_server(), Defect::NotAuthority);
    }
    let issuer = below("signs lists", &root, |it| it.key_usages = vec![KeyUsagePurpose::CrlSign]);
    let peer = server(&issuer, |_| ()).above(&[&issuer]);
    both.refuse_alone(&peer.as_server(), Defect::IssuerKeyUsage);
    let issuer = below("no usage", &root, |it| it.key_usages = vec![]);
    both.accept(&server(&issuer, |_| ()).above(&[&issuer]).as_server());
}

#[test]
fn an_end_entity_is_no_authority() {
    let root = root();
    let both = Both::new(&[&root]);
    let is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    both.refuse(&server(&root, |it| it.is_ca = is_ca).as_server(), Defect::IsAuthority);
    // rcgen writes the default, as other tools do.
    both.accept(&server(&root, |it| it.is_ca = IsCa::ExplicitNoCa).as_server());
}

#[test]
fn the_length_of_a_path_is_bounded_by_each_of_its_authorities() {
    let root = root();
    let both = Both::new(&[&root]);
    for (upper_len, lower_len, is_accepted) in
        [(1, 0, true), (0, 0, false), (255, 200, true), (1, 1, true), (128, 0, true)]
    {
        let constrained = |it: &mut CertificateParams, len| {
            it.is_ca = IsCa::Ca(BasicConstraints::Constrained(len));
        };
        let upper = below("upper", &root, |it| constrained(it, upper_len));
        let lower = below("lower", &upper, |it| constrained(it, lower_len));
        let question = server(&lower, |_| ()).above(&[&lower, &upper]).as_server();
        match is_accepted {
            true => drop(both.accept(&question)),
            false => both.refuse(&question, Defect::PathLength),
        }
    }
}

#[test]
fn key_usages_of_end_entities_include_signatures() {
    use KeyUsagePurpose::{DigitalSignature, KeyAgreement, KeyEncipherment};

    let root = root();
    let both = Both::new(&[&root]);
    for (usages, is_accepted) in [
        (&[][..], true),
        (&[DigitalSignature], true),
        (&[KeyEncipherment, DigitalSignature], true),
        (&[KeyEncipherment], false),
        (&[KeyAgreement], false),
    ] {
        let question = server(&root, |it| it.key_usages = usages.to_vec()).as_server();
        match is_accepted {
            true => drop(both.accept(&question)),
            false => both.refuse(&question, Defect::KeyUsage),
        }
    }
    for (value, defect) in [
        (&[4, 1, 0x80][..], Defect::Malformed),
        (&[3, 2, 9, 0x80], Defect::Malformed),
        (&[3, 0], Defect::Malformed),
        (&[3, 1, 1], Defect::Malformed),
        (&[3, 2, 0, 0x80, 0], Defect::Malformed),
        (&[3, 1, 0], Defect::KeyUsage),
        (&[3, 2, 0, 0x60], Defect::KeyUsage),
        (&[3, 3, 7, 0, 0x80], Defect::KeyUsage),
    ] {
        both.refuse(&with_extension(&root, KEY_USAGE, true, value).as_server(), defect);
    }
    both.accept(&with_extension(&root, KEY_USAGE, true, &[3, 3, 7, 0x80, 0x80]).as_server());
}

#[test]
fn extended_key_usages_are_those_of_the_role() {
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, CodeSigning, ServerAuth};

    let root = root();
    let both = Both::new(&[&root]);
    let of = |usages: &[ExtendedKeyUsagePurpose]| {
        server(&root, |it| it.extended_key_usages = usages.to_vec())
    };
    both.accept(&of(&[]).as_server());
    both.accept(&of(&[]).as_client());
    both.accept(&of(&[ClientAuth, ServerAuth]).as_server());
    both.accept(&of(&[ServerAuth, ClientAuth]).as_client());
    for usages in [&[ClientAuth][..], &[CodeSigning], &[Any]] {
        both.refuse(&of(usages).as_server(), Defect::ExtendedKeyUsage);
    }
    both.refuse(&of(&[ServerAuth]).as_client(), Defect::ExtendedKeyUsage);
    // They restrict issuers as well.
    let issuer = below("signs code", &root, |it| it.extended_key_usages = vec![CodeSigning]);
    let peer = server(&issuer, |_| ()).above(&[&issuer]);
    both.refuse(&peer.as_server(), Defect::ExtendedKeyUsage);

    let no_usage = |it: &mut CertificateParams| it.extended_key_usages = vec![];
    let raw = |value: &[u8]| {
        server(&root, |it| {
            no_usage(it);
            it.custom_extensions = vec![extension(EXTENDED_KEY_USAGE, false, value)];
        })
        .as_server()
    };
    both.refuse(&raw(&[0x30, 0]), Defect::ExtendedKeyUsage);
    both.refuse(&raw(&[0x30, 2, 5, 0]), Defect::Malformed);
    let with_garbage = [&[0x30, 12, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1][..], &[5, 0]].concat();
    both.refuse_alone(&raw(&with_garbage), Defect::Malformed);
}

#[test]
fn unknown_extensions_are_ignored_unless_they_are_critical() {
    let root = root();
    let both = Both::new(&[&root]);
    for (id, value) in
        [(PRIVATE, &b"any bytes"[..]), (CERTIFICATE_POLICIES, &[0x30, 0]), (PRIVATE, &[])]
    {
        both.accept(&with_extension(&root, id, false, value).as_server());
        let critical = with_extension(&root, id, true, value);
        both.refuse(&critical.as_server(), Defect::CriticalExtension);
    }
    let points = |is_critical, value| {
        with_extension(&root, CRL_DISTRIBUTION_POINTS, is_critical, value).as_server()
    };
    both.accept(&points(false, &[0x30, 0]));
    both.refuse(&points(false, &[5, 0]), Defect::Malformed);
    // webpki reads them for revocation lists.
    both.refuse_alone(&points(true, &[0x30, 0]), Defect::CriticalExtension);
}

#[test]
fn an_extension_comes_once() {
    let root = root();
    let both = Both::new(&[&root]);
    let twice = |id, value: &[u8]| {
        let one = extension(id, false, value);
        server(&root, |it| it.custom_extensions = vec![one.clone(), one]).as_server()
    };
    both.refuse(&twice(KEY_USAGE, &[3, 2, 7, 0x80]), Defect::DuplicateExtension);
    both.refuse(&twice(BASIC_CONSTRAINTS, &[0x30, 0]), Defect::DuplicateExtension);
    both.refuse_alone(&twice(PRIVATE, &[5, 0]), Defect::DuplicateExtension);
    let names = extension(SUBJECT_ALT_NAME, false, b"\x30\x02\x82\x00");
    let peer = server(&root, |it| it.custom_extensions = vec![names]);
    both.refuse(&peer.as_server(), Defect::DuplicateExtension);
}

#[test]
fn constraints_are_well_formed() {
    let root = root();
    let both = Both::new(&[&root]);
    let of = |value: &[u8]| with_extension(&root, BASIC_CONSTRAINTS, true, value).as_server();
    // webpki ignores a length without cA, too.
    for value in [&[0x30, 0][..], &[0x30, 3, 1, 1, 0], &[0x30, 3, 2, 1, 0]] {
        both.accept(&of(value));
    }
    for value in [
        &[5, 0][..],
        &[0x30, 3, 1, 1, 1],
        &[0x30, 3, 2, 1, 0x80],
        &[0x30, 4, 2, 2, 0, 1],
        &[0x30, 4, 2, 2, 1, 0],
        &[0x30, 2, 2, 0],
        &[0x30, 5, 2, 1, 0, 5, 0],
        &[0x30, 0, 0],
    ] {
        both.refuse(&of(value), Defect::Malformed);
    }
}

#[test]
fn name_constraints_are_not_supported() {
    let root = root();
    let both = Both::new(&[&root]);
    let constrained = |name: &str| {
        let issuer = below("constrained", &root, |it| {
            it.name_constraints = Some(NameConstraints {
                permitted_subtrees: vec![GeneralSubtree::DnsName(name.into())],
                excluded_subtrees: vec![],
            });
        });
        server(&issuer, |_| ()).above(&[&issuer]).as_server()
    };
    both.refuse_alone(&constrained("server.example"), Defect::NameConstraints);
    let violated = constrained("other.example");
    assert_eq!(judge(&both.fixed, &violated), Err(Defect::NameConstraints.into()));
    assert!(judge(&both.webpki, &violated).is_err());
}

#[test]
fn certificates_of_post_quantum_keys_are_accepted() {
    use tessera::wire::SignatureScheme;

    for (algorithm, scheme) in [
        (&rcgen::PKCS_ML_DSA_44, SignatureScheme::MLDSA44),
        (&rcgen::PKCS_ML_DSA_65, SignatureScheme::MLDSA65),
    ] {
        let root = root_with(algorithm, |_| ());
        let between = below("between", &root, |_| ());
        let both = Both::new(&[&root]);
        let peer = Peer::with(&server_params(), algorithm, &between).above(&[&between]);
        both.accept(&peer.as_server_with(scheme));
        // With a key of another kind below.
        let peer = Peer::new(&server_params(), &between).above(&[&between]);
        both.accept(&peer.as_server());
        let impostor = Both::new(&[&root_with(algorithm, |_| ())]);
        impostor.refuse(&peer.as_server(), Defect::Signature);
    }
}

#[test]
fn algorithms_that_are_not_the_owners_are_refused() {
    let other = root_with(&rcgen::PKCS_ECDSA_P384_SHA384, |_| ());
    let both = Both::new(&[&other]);
    both.refuse(&Peer::new(&server_params(), &other).as_server(), Defect::Algorithm);
}

/// The algorithm in a certificate fits ECDSA, but the issuer's key is another kind.
#[test]
fn an_algorithm_fits_the_issuers_key() {
    let (ecdsa, other) = (root(), root_with(&rcgen::PKCS_ECDSA_P384_SHA384, |_| ()));
    let both = Both::new(&[&other]);
    both.refuse(&Peer::new(&server_params(), &ecdsa).as_server(), Defect::KeyAlgorithm);
}

#[test]
fn dates_of_each_certificate_count() {
    let root = root();
    let both = Both::new(&[&root]);
    let issuer = below("short", &root, |it| it.not_after = date_time_ymd(2030, 6, 1));
    let question = server(&issuer, |_| ()).above(&[&issuer]).as_server();
    let end = 1_906_502_400;
    assert_eq!(both.accept(&question).expires_at, Some(end));
    both.refuse(&with(question, |it| it.unix = Some(end + 1)), Defect::Expired);
    let client = Peer::new(&client_params(&["a.example"]), &issuer).above(&[&issuer]);
    assert_eq!(both.accept(&client.as_client()).expires_at, Some(end));
}
