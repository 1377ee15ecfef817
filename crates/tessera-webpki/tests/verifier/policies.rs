//! Verifiers' policies: equal if they accept the same peers, different otherwise.

use rcgen::{SerialNumber, date_time_ymd};
use tessera::auth::{PeerVerifier, VerifierPolicy};
use tessera::wire::SignatureScheme;
use tessera_webpki::{Algorithms, PinnedKey, PinnedKeyVerifier, UnknownStatus, WebPkiVerifier};

use crate::pki::{
    Ca, Peer, ca_params, client_params, crl, crl_with, root, root_with, server_params,
};

fn of(roots: &[&Ca]) -> VerifierPolicy {
    let roots: Vec<_> = roots.iter().map(|root| root.der()).collect();
    WebPkiVerifier::new(&roots).unwrap().policy()
}

#[track_caller]
fn assert_all_differ(policies: &[VerifierPolicy]) {
    for (at, policy) in policies.iter().enumerate() {
        assert!(policies[at + 1..].iter().all(|other| other != policy), "{at}");
    }
}

#[test]
fn the_policy_of_a_verifier_does_not_depend_on_the_order_of_anchors() {
    let (one, two) = (root("one"), root("two"));
    assert_eq!(of(&[&one]), of(&[&one]));
    assert_eq!(of(&[&one, &two]), of(&[&two, &one, &two]));
}

#[test]
fn verifiers_with_other_anchors_have_another_policy() {
    let (one, two) = (root("one"), root("two"));
    // The same name with another key, and the same name and kind of key with another algorithm.
    let (namesake, other_kind) = (root("one"), root_with("one", &rcgen::PKCS_ED25519));
    assert_all_differ(&[
        of(&[&one]),
        of(&[&two]),
        of(&[&one, &two]),
        of(&[&namesake]),
        of(&[&other_kind]),
    ]);
}

#[test]
fn name_constraints_of_an_anchor_belong_to_a_verifiers_policy() {
    let key = || rcgen::KeyPair::generate().unwrap();
    let shared = key();
    let anchor = |constraints| {
        let key = rcgen::KeyPair::try_from(shared.serialize_der()).unwrap();
        let mut params = ca_params("root");
        params.name_constraints = constraints;
        Ca::self_signed(params, key).unwrap()
    };
    let within = |name: &str| {
        let permitted_subtrees = vec![rcgen::GeneralSubtree::DnsName(name.into())];
        Some(rcgen::NameConstraints { permitted_subtrees, excluded_subtrees: vec![] })
    };
    assert_all_differ(&[
        of(&[&anchor(None)]),
        of(&[&anchor(within("a.example"))]),
        of(&[&anchor(within("b.example"))]),
    ]);
}

/// A resumption consults no list: a revoked peer's sessions end with the policy.
#[test]
fn the_revoked_certificates_belong_to_a_verifiers_policy() {
    let [root, other] = ["root", "another"].map(root);
    let with = |lists: &[Vec<u8>], unknown| {
        let verifier = WebPkiVerifier::new(&[root.der()]).unwrap();
        verifier.with_crls(lists, unknown).unwrap().policy()
    };
    let reject = |lists: &[Vec<u8>]| with(lists, UnknownStatus::Reject);
    assert_all_differ(&[
        of(&[&root]),
        reject(&[crl(&root, &[1])]),
        with(&[crl(&root, &[1])], UnknownStatus::Accept),
        reject(&[crl(&root, &[2])]),
        reject(&[crl(&root, &[1, 2])]),
        reject(&[crl(&root, &[])]),
        // Without a list for another issuer, the status of its certificates is unknown.
        reject(&[crl(&root, &[1]), crl(&other, &[])]),
        reject(&[crl(&root, &[1]), crl(&other, &[1])]),
    ]);
}

#[test]
fn a_revocation_list_that_revokes_the_same_again_keeps_a_verifiers_policy() {
    let root = root("root");
    let of = |list: Vec<u8>| {
        let verifier = WebPkiVerifier::new(&[root.der()]).unwrap();
        verifier.with_crls(&[list], UnknownStatus::Reject).unwrap().policy()
    };
    let earlier = of(crl(&root, &[2, 3]));
    assert_eq!(
        earlier,
        of(crl_with(&root, &[3, 2], |list| {
            list.crl_number = SerialNumber::from(9_u64);
            list.this_update = date_time_ymd(2030, 3, 1);
        }))
    );
}

#[test]
fn the_lists_that_a_verifier_sends_to_peers_are_no_part_of_its_policy() {
    let root = root("root");
    let naming = WebPkiVerifier::new(&[root.der()]).unwrap().naming_authorities();
    assert_eq!(naming.policy(), of(&[&root]));
}

#[test]
fn the_algorithms_belong_to_a_verifiers_policy() {
    const FEWER_SCHEMES: Algorithms = Algorithms {
        handshake: &[(
            SignatureScheme::ECDSA_SECP256R1_SHA256,
            webpki::aws_lc_rs::ECDSA_P256_SHA256,
        )],
        ..Algorithms::AWS_LC
    };
    const SHORTER_CHAINS: Algorithms =
        Algorithms { chain: &[webpki::aws_lc_rs::ECDSA_P256_SHA256], ..Algorithms::AWS_LC };
    let root = root("root");
    let policy =
        |algorithms| WebPkiVerifier::with_algorithms(&[root.der()], algorithms).unwrap().policy();
    assert_eq!(policy(Algorithms::AWS_LC), of(&[&root]));
    assert_all_differ(&[policy(Algorithms::AWS_LC), policy(FEWER_SCHEMES), policy(SHORTER_CHAINS)]);
    let keys = |algorithms| {
        let public_key = Peer::new(&server_params(), &root).public_key();
        let key = PinnedKey { public_key, name: "a".into() };
        PinnedKeyVerifier::with_algorithms(vec![key], algorithms).unwrap().policy()
    };
    assert_ne!(keys(Algorithms::AWS_LC), keys(FEWER_SCHEMES));
}

#[test]
fn pinned_keys_and_their_names_belong_to_a_verifiers_policy() {
    let root = root("root");
    let [one, two] =
        ["a.example", "b.example"].map(|name| Peer::new(&client_params(&[name]), &root));
    let key =
        |peer: &Peer, name: &str| PinnedKey { public_key: peer.public_key(), name: name.into() };
    let policy = |keys: &[PinnedKey]| PinnedKeyVerifier::new(keys.to_vec()).unwrap().policy();
    assert_eq!(policy(&[key(&one, "a")]), policy(&[key(&one, "a")]));
    assert_all_differ(&[
        policy(&[key(&one, "a")]),
        policy(&[key(&two, "a")]),
        policy(&[key(&one, "b")]),
        policy(&[key(&one, "a"), key(&two, "a")]),
        // The first name of a client's key is its identity.
        policy(&[key(&one, "a"), key(&one, "b")]),
        policy(&[key(&one, "b"), key(&one, "a")]),
        of(&[&root]),
    ]);
}
