//! A witness over a store in a file.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use tessera_store::{FileStore, StoreWitness};
use tessera_vault::{Mark, Witness, WitnessOutcome};

use crate::common::Directory;

const VAULT: [u8; 16] = [7; 16];

fn is_replaced(witness: &dyn Witness, expected: Option<u8>, new: u8) -> bool {
    let expected = expected.map(|mark| Mark([mark; 16]));
    let outcome = witness.replace(&VAULT, expected.as_ref(), &Mark([new; 16]));
    matches!(outcome.unwrap(), WitnessOutcome::Replaced { hold: None })
}

#[test]
fn a_mark_is_replaced_only_if_it_is_the_expected_one() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let directory = Directory::new();
    let store = Arc::new(FileStore::open(&directory.store()).unwrap());
    let witness = StoreWitness::new(store.clone(), "/witness/", Duration::from_secs(10));
    assert!(!is_replaced(&witness, Some(1), 2), "no mark");
    assert!(is_replaced(&witness, None, 1));
    assert!(!is_replaced(&witness, None, 2), "a mark");
    assert!(!is_replaced(&witness, Some(3), 2), "another mark");
    assert!(is_replaced(&witness, Some(1), 2));
    let elsewhere = StoreWitness::new(store, "/other/", Duration::from_secs(10));
    assert!(is_replaced(&elsewhere, None, 1), "another prefix has marks of its own");
}

/// Copies of a directory that are opened at the same time: one of them keeps the identity.
#[test]
fn one_of_those_who_replace_a_mark_at_the_same_time_succeeds() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let directory = Directory::new();
    let store = Arc::new(FileStore::open(&directory.store()).unwrap());
    let witness = StoreWitness::new(store, "/witness/", Duration::from_secs(10));
    for round in 0..20 {
        let expected = (round > 0).then_some(round);
        let together = Barrier::new(4);
        let replaced = thread::scope(|scope| {
            let open = || {
                together.wait();
                is_replaced(&witness, expected, round + 1)
            };
            let opened: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            opened.into_iter().map(|it| usize::from(it.join().unwrap())).sum::<usize>()
        });
        assert_eq!(replaced, 1, "{round}");
    }
}
