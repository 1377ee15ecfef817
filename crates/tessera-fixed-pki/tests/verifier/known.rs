//! Chains that are recognised, with a clock and without.

use tessera::Role;
use tessera::auth::{AskedChain, ChainMemory, PeerVerifier, VerifyPeer, chain_hash};
use tessera_fixed_pki::{ChainStore, Defect, FixedPkiVerifier, KnownChains, StoreBounds};

use crate::pki::{
    ALGORITHMS, Ca, NOT_AFTER, NOW, Peer, anchor, below, client_params, judge, root, server_params,
    with,
};

fn store() -> ChainStore {
    ChainStore::new(&tessera_aws_lc::provider(), StoreBounds { entries: 8, bytes: 4096 }).unwrap()
}

fn trusting(root: &Ca) -> FixedPkiVerifier {
    FixedPkiVerifier::new(vec![anchor(root.der())], ALGORITHMS).unwrap().accepting_clients()
}

/// Returns whether the chain was known, and the verdict.
fn ask(
    verifier: &KnownChains,
    store: &ChainStore,
    question: &VerifyPeer,
) -> (bool, Result<tessera::auth::PeerIdentity, tessera::auth::PeerRejected>) {
    let hits = store.counts().hits;
    let verdict = judge(verifier, question);
    (store.counts().hits > hits, verdict)
}

fn hash(question: &VerifyPeer) -> [u8; 32] {
    let sha256 = tessera_aws_lc::provider().sha256().unwrap();
    chain_hash(sha256, &question.chain).unwrap()
}

fn server(root: &Ca) -> VerifyPeer {
    let between = below("between", root, |_| ());
    Peer::new(&server_params(), &between).above(&[&between]).as_server()
}

#[test]
fn a_chain_that_was_accepted_is_known_with_the_same_identity() {
    let (root, store) = (root(), store());
    let verifier = KnownChains::new(trusting(&root), &store);
    assert_eq!(verifier.policy(), trusting(&root).policy());
    let client = Peer::new(&client_params(&["b.example", "a.example"]), &root).as_client();
    for question in [server(&root), client] {
        let plain = judge(&trusting(&root), &question);
        assert!(plain.is_ok());
        assert_eq!(ask(&verifier, &store, &question), (false, plain.clone()));
        assert_eq!(ask(&verifier, &store, &question), (true, plain));
        // The proof is checked each time.
        let other = Peer::new(&server_params(), &root).as_server().proof;
        let stolen = with(question.clone(), |it| it.proof = other);
        assert_eq!(ask(&verifier, &store, &stolen).1, Err(Defect::ProofSignature.into()));
        let late = with(question, |it| it.unix = Some(NOT_AFTER + 1));
        assert_eq!(ask(&verifier, &store, &late), (false, Err(Defect::Expired.into())));
    }
}

#[test]
fn a_chain_is_known_for_its_role_its_name_and_its_anchors_alone() {
    let (root, other, store) = (root(), root(), store());
    let verifier = KnownChains::new(trusting(&root), &store);
    let question = server(&root);
    assert!(ask(&verifier, &store, &question).1.is_ok());
    let named = with(question.clone(), |it| it.server_name = Some("b.example".into()));
    assert_eq!(ask(&verifier, &store, &named), (false, Err(Defect::Name.into())));
    let as_client = with(question.clone(), |it| it.peer = Role::Client);
    let refused = Err(Defect::ExtendedKeyUsage.into());
    assert_eq!(ask(&verifier, &store, &as_client), (false, refused));
    let elsewhere = KnownChains::new(trusting(&other), &store);
    assert_eq!(ask(&elsewhere, &store, &question), (false, Err(Defect::Signature.into())));
    // A verifier that checks no dates has entries of its own.
    let undated = KnownChains::new(trusting(&root).without_checking_dates(), &store);
    assert!(!ask(&undated, &store, &question).0);
    assert!(ask(&undated, &store, &question).0);
}

#[test]
fn chains_with_more_than_their_path_are_not_remembered() {
    let (root, store) = (root(), store());
    let verifier = KnownChains::new(trusting(&root), &store);
    let (between, unused) = (below("between", &root, |_| ()), below("unused", &root, |_| ()));
    let peer = || Peer::new(&server_params(), &between);
    for (above, is_known) in [
        (&[&between][..], true),
        (&[&between, &root], true),
        (&[&between, &unused], false),
        (&[&between, &root, &root], false),
    ] {
        let question = peer().above(above).as_server();
        assert!(ask(&verifier, &store, &question).1.is_ok());
        assert_eq!(ask(&verifier, &store, &question).0, is_known);
    }
}

#[test]
fn a_chain_is_known_by_its_hash() {
    let (root, store) = (root(), store());
    let verifier = KnownChains::new(trusting(&root), &store);
    let question = server(&root);
    let hash = hash(&question);
    let by_hash = with(question.clone(), |it| (it.chain, it.known) = (vec![], Some(hash)));
    assert!(judge(&verifier, &by_hash).is_err());
    let plain = judge(&verifier, &question);
    assert_eq!(judge(&verifier, &by_hash), plain);
    assert!(verifier.is_proof_right(&by_hash));
    let asked = AskedChain {
        hash,
        peer: Role::Server,
        server_name: Some("server.example"),
        unix: Some(NOW),
    };
    let pinned = verifier.pin(&asked).unwrap();
    assert_eq!((pinned.certificates, pinned.expires_at), (2, NOT_AFTER));
    assert!(verifier.pin(&AskedChain { unix: None, ..asked }).is_none());
    assert!(verifier.pin(&AskedChain { unix: Some(NOT_AFTER + 1), ..asked }).is_none());
}

#[test]
fn chains_are_known_without_a_clock_if_dates_do_not_count() {
    let (root, store) = (root(), store());
    let verifier = KnownChains::new(trusting(&root).without_checking_dates(), &store);
    let at = |unix| with(server(&root), |it| it.unix = unix);
    let question = at(None);
    let plain = judge(&verifier, &question);
    assert_eq!(plain.as_ref().map(|it| it.expires_at), Ok(None));
    for unix in [None, Some(0), Some(NOW), Some(u64::MAX)] {
        let later = with(question.clone(), |it| it.unix = unix);
        assert_eq!(ask(&verifier, &store, &later), (true, plain.clone()));
    }
    let hash = hash(&question);
    let by_hash = with(question.clone(), |it| (it.chain, it.known) = (vec![], Some(hash)));
    assert_eq!(judge(&verifier, &by_hash), plain);
    let (peer, server_name) = (Role::Server, Some("server.example"));
    let pinned = verifier.pin(&AskedChain { hash, peer, server_name, unix: None });
    assert_eq!(pinned.map(|it| it.expires_at), Some(u64::MAX));
    // With a clock that is needed, there is no answer without one.
    let dated = KnownChains::new(trusting(&root), &store);
    assert_eq!(judge(&dated, &at(None)), Err(Defect::NoTime.into()));
}

#[test]
fn a_full_store_forgets_the_least_recently_used_chain() {
    let (root, store) = (root(), store());
    let verifier = KnownChains::new(trusting(&root), &store);
    let questions: Vec<_> =
        (0..9).map(|_| Peer::new(&server_params(), &root).as_server()).collect();
    for question in &questions {
        assert!(judge(&verifier, question).is_ok());
    }
    assert_eq!(store.counts().entries, 8);
    assert!(ask(&verifier, &store, &questions[8]).0);
    assert!(!ask(&verifier, &store, &questions[0]).0);
}
