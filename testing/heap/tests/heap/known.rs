//! A chain for which there is no memory is accepted, and not remembered.

use std::ops::Range;

use tessera::auth::{
    AskedChain, ChainMemory, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerRejected,
    PeerVerifier, Proof, VerifierPolicy, VerifyPeer, chain_hash,
};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera::{Reply, Role};
use tessera_fixed_pki::KnownChains;
use tessera_heap_tests::{Heap, heap, off_heap, on_heap, refuse_each, set_heap};
use tessera_known_chains::{ChainStore, ChainVerifier, EndEntity, JudgedChain, Names, StoreBounds};

use crate::provider::PROVIDER;
use crate::verifier::{Peer, dns, judge};

/// A running hash is smaller, and so is the hold of a pin.
const SMALLEST: usize = 160;

/// Accepts any chain, with this long parts: its certificates are the identity and the authority.
struct AnyChain;

const LEN: usize = 200;

impl PeerVerifier for AnyChain {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ED25519]
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("any chain")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Now(Ok(PeerIdentity::default().into()))
    }
}

impl ChainVerifier for AnyChain {
    fn checks_name(&self, _: Role) -> bool {
        false
    }

    fn checks_dates(&self) -> bool {
        false
    }

    fn judge_chain(
        &self,
        question: &VerifyPeer,
        _: Names,
        _: bool,
    ) -> Result<JudgedChain, PeerRejected> {
        let [identity, issuer] = &question.chain[..] else { panic!("chains have two parts") };
        let judged = || JudgedChain {
            identity: identity.clone(),
            validity: 0..=u64::MAX,
            public_key: None,
            end_entity: Some(EndEntity { public_key: vec![7; LEN], issuer: issuer.clone() }),
        };
        Ok(off_heap(judged))
    }

    fn judge_proof(&self, _: &VerifyPeer, _: &[u8]) -> Result<Option<PeerPublicKey>, PeerRejected> {
        Ok(None)
    }
}

/// Returns the question about a client's chain; authorities issue fifty each.
fn question(number: u32) -> VerifyPeer {
    let certificate = |number: u32| [&number.to_be_bytes()[..], &[0x30; LEN]].concat();
    let chain = vec![certificate(number), certificate(number / 50)];
    let proof = Proof::Signature {
        scheme: SignatureScheme::ED25519,
        signed: Vec::new(),
        signature: Vec::new(),
    };
    VerifyPeer::new(Role::Client, chain, proof)
}

fn asked(question: &VerifyPeer) -> AskedChain<'_> {
    let hash = chain_hash(PROVIDER.sha256().unwrap(), &question.chain).unwrap();
    AskedChain { hash, peer: question.peer, server_name: None, unix: None }
}

type Known = tessera_known_chains::KnownChains<AnyChain>;

fn remembering(entries: usize) -> (Known, ChainStore) {
    let store = ChainStore::new(&PROVIDER, StoreBounds { entries, bytes: usize::MAX }).unwrap();
    (Known::new(AnyChain, &store), store)
}

/// Does something with memory, and refuses again what was refused before.
fn with_memory<R>(step: impl FnOnce() -> R) -> R {
    let before = heap();
    set_heap(Heap::with_limit(isize::MAX));
    let result = step();
    set_heap(before);
    result
}

/// Asks about chains for the first time, each with one block refused, or with all from one on, until it is remembered.
/// Returns how many blocks were refused that way.
fn learn(verifier: &Known, numbers: Range<u32>) -> usize {
    let mut refused = 0;
    for number in numbers {
        let question = question(number);
        for first in 0.. {
            let refuses = (first, if number % 2 == 0 { first + 1 } else { usize::MAX });
            set_heap(Heap { smallest: SMALLEST, refuses, ..Heap::with_limit(isize::MAX) });
            // It is accepted in any case.
            assert_eq!(judge(verifier, &question).unwrap().blob, question.chain[0]);
            let is_known = with_memory(|| verifier.pin(&asked(&question))).is_some();
            assert_eq!(is_known, heap().refused == 0, "{number}, {first}");
            if is_known {
                break;
            }
            refused += 1;
        }
    }
    refused
}

#[test]
fn a_chain_without_memory_for_it_is_accepted_and_not_remembered() {
    let (verifier, store) = remembering(usize::MAX);
    // A record each; now and then an authority, its share, a piece of the table, and the index.
    assert!(learn(&verifier, 0..300) > 300 + 6 + 5);
    let entries = store.counts().entries;
    assert_eq!(entries, 300);
    for number in 0..300 {
        assert!(with_memory(|| judge(&verifier, &question(number))).is_ok());
    }
    assert_eq!((store.counts().entries, store.counts().hits), (300, 300));
}

#[test]
fn a_full_store_without_memory_forgets_the_same_chains_as_one_with_memory() {
    let [(verifier, store), (with_all, expected)] = [(); 2].map(|()| remembering(70));
    assert!(learn(&verifier, 0..300) > 300);
    let knows = |verifier: &Known, number| verifier.pin(&asked(&question(number))).is_some();
    with_memory(|| {
        for number in 0..300 {
            assert!(judge(&with_all, &question(number)).is_ok() && knows(&with_all, number));
        }
        for number in 0..300 {
            assert_eq!(knows(&verifier, number), knows(&with_all, number), "{number}");
        }
    });
    assert_eq!((store.counts().entries, store.counts().bytes), (70, expected.counts().bytes));
}

#[test]
fn a_chain_without_memory_for_its_pin_is_not_offered() {
    let (verifier, store) = remembering(1);
    let (one, other) = (question(1), question(2));
    assert!(with_memory(|| judge(&verifier, &one)).is_ok());
    let blocks = refuse_each(SMALLEST, || {
        // A new store: a table keeps its memory.
        let (verifier, store) = remembering(1);
        assert!(with_memory(|| judge(&verifier, &one)).is_ok());
        let pinned = on_heap(|| verifier.pin(&asked(&one)));
        assert_eq!(pinned.is_none(), heap().refused > 0);
        with_memory(|| {
            let again = verifier.pin(&asked(&one)).unwrap();
            // An evicted chain stays known while it is pinned.
            assert!(judge(&verifier, &other).is_ok());
            assert_eq!(store.counts().held, 1);
            drop(again);
            assert_eq!(store.counts().held, usize::from(pinned.is_some()));
            drop(pinned);
            assert_eq!(store.counts().held, 0);
        });
    });
    assert_eq!((blocks, store.counts().held), (1, 0));
}

#[test]
fn a_client_of_a_fixed_pki_without_memory_for_its_copies_is_refused_with_internal_error() {
    let long = |at: u8| dns([char::from(at).to_string().repeat(60), "x".repeat(60)].join("."));
    let peer = Peer::new((b'a'..b'g').map(long).collect());
    let store = ChainStore::new(&PROVIDER, StoreBounds::default()).unwrap();
    let verifier = KnownChains::new(peer.verifier(), &store);
    let question = peer.as_client();
    let accepted = with_memory(|| judge(&peer.verifier(), &question)).unwrap();
    assert!(accepted.blob.len() > 4 * SMALLEST);
    let mut refused = 0;
    refuse_each(SMALLEST, || {
        let (hits, verdict) = (store.counts().hits, judge(&verifier, &question));
        let is_known = store.counts().hits > hits;
        match verdict {
            Ok(identity) => {
                assert_eq!((identity == accepted, is_known && heap().refused > 0), (true, false))
            }
            Err(rejected) => {
                assert_eq!(rejected.alert, AlertDescription::INTERNAL_ERROR);
                refused += 1 + 100 * usize::from(is_known);
            }
        }
    });
    // Before it was known, and afterwards.
    assert!(refused > 100 && refused % 100 > 1, "{refused}");
    assert_eq!(store.counts().entries, 1);
}
