//! The store of known chains: bounds, and threads.

use std::thread;

use tessera_webpki::{KnownChains, StoreBounds, WebPkiVerifier};

use super::{assert_judged_whole, assert_known, store, store_of, trusting};
use crate::pki::{Peer, client_params, judge, root, server_params};

#[test]
fn the_least_recently_used_chain_is_judged_whole_again() {
    let root = root("root");
    let store = store_of(StoreBounds { entries: 2, bytes: usize::MAX });
    let verifier = trusting(&root, &store);
    let [a, b, c] = [(); 3].map(|()| Peer::new(&server_params(), &root).as_server());
    assert_judged_whole(&verifier, &store, &a);
    assert_judged_whole(&verifier, &store, &b);
    assert_known(&verifier, &store, &a);
    assert_judged_whole(&verifier, &store, &c);
    assert_known(&verifier, &store, &a);
    assert_known(&verifier, &store, &c);
    assert_judged_whole(&verifier, &store, &b);
    assert_eq!(store.counts().entries, 2);
}

#[test]
fn one_authoritys_clients_never_make_anothers_be_forgotten() {
    let [root, other] = ["root", "other"].map(root);
    let store = store_of(StoreBounds { entries: 4, bytes: usize::MAX });
    let verifier = WebPkiVerifier::new(&[root.der(), other.der()]).unwrap();
    let verifier = KnownChains::new(verifier, &store);
    let client = |issuer| Peer::new(&client_params(&["client.example"]), issuer).as_client();
    let known = client(&root);
    assert_judged_whole(&verifier, &store, &known);
    let mut last = None;
    for _ in 0..10 {
        let filling = client(&other);
        assert_judged_whole(&verifier, &store, &filling);
        last = Some(filling);
    }
    assert_eq!(store.counts().entries, 4);
    assert_known(&verifier, &store, &known);
    assert_known(&verifier, &store, &last.unwrap());
}

#[test]
fn a_store_stays_within_its_bytes() {
    let root = root("root");
    let store = store_of(StoreBounds { entries: usize::MAX, bytes: 1000 });
    let verifier = trusting(&root, &store);
    for _ in 0..20 {
        let client = Peer::new(&client_params(&["client.example"]), &root).as_client();
        assert!(judge(&verifier, &client).is_ok());
        assert!(store.counts().bytes <= 1000);
    }
    assert_eq!(store.counts().entries, 1000 / (store.counts().bytes / store.counts().entries));
}

#[test]
fn threads_share_a_store() {
    let (root, store) = (root("root"), store());
    let peers: Vec<_> = (0..8).map(|_| Peer::new(&server_params(), &root).as_server()).collect();
    thread::scope(|scope| {
        for first in 0..4 {
            let (peers, root, store) = (&peers, &root, &store);
            scope.spawn(move || {
                let verifier = trusting(root, store);
                for at in 0..100 {
                    assert!(judge(&verifier, &peers[(first + at) % peers.len()]).is_ok());
                }
            });
        }
    });
    let counts = store.counts();
    assert_eq!((counts.entries, counts.hits + counts.misses), (8, 400));
    // Threads that meet at a new chain each verify it.
    assert!((8..=4 * 8).contains(&counts.misses), "{counts:?}");
}
