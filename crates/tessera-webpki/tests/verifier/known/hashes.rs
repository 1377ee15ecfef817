//! Chains that are sent only as their hash.

use tessera::Role;
use tessera::auth::{AskedChain, ChainMemory, PeerVerifier, VerifyPeer, chain_hash};
use tessera::wire::{AlertDescription, CertificateType, CipherSuite};
use tessera_webpki::{KnownChains, StoreBounds, UnknownStatus};

use super::{
    assert_judged_whole, assert_known, assert_refused, intermediate, server_below, store, store_of,
    trusting,
};
use crate::pki::{
    NOT_AFTER, NOW, Peer, client_params, crl, judge, root, server_params, signature_of, with,
};

fn hash(chain: &[Vec<u8>]) -> [u8; 32] {
    chain_hash(tessera_aws_lc::provider().sha256().unwrap(), chain).unwrap()
}

/// Returns the question with the hash in place of the chain.
fn abbreviated(question: &VerifyPeer) -> VerifyPeer {
    with(question.clone(), |it| {
        it.known = Some(hash(&it.chain));
        it.chain.clear();
    })
}

fn asked(question: &VerifyPeer) -> AskedChain<'_> {
    AskedChain {
        hash: hash(&question.chain),
        peer: question.peer,
        server_name: question.server_name.as_deref(),
        unix: question.unix,
    }
}

#[test]
fn a_chain_has_a_hash_with_sha_256_alone() {
    let provider = tessera_aws_lc::provider();
    let sha384 = provider.suite(CipherSuite::TLS_AES_256_GCM_SHA384).unwrap();
    assert_eq!(chain_hash(sha384.hash, &[b"a"]), None);
    assert_eq!(provider.sha256().unwrap().len(), 32);
}

#[test]
fn a_chain_that_comes_as_its_hash_is_answered_as_if_it_were_there() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let server = server_below(&intermediate(&root)).as_server();
    let client = Peer::new(&client_params(&["b.example", "a.example"]), &root).as_client();
    for question in [server, client] {
        let short = abbreviated(&question);
        assert_refused(&verifier, &store, &short, AlertDescription::BAD_CERTIFICATE);
        assert_judged_whole(&verifier, &store, &question);
        assert_known(&verifier, &store, &short);
        assert_eq!(judge(&verifier, &short), judge(&crate::pki::trusting(&root), &question));
        let wrong = with(short.clone(), |it| signature_of(it).clear());
        assert_refused(&verifier, &store, &wrong, AlertDescription::DECRYPT_ERROR);
    }
}

#[test]
fn a_chain_that_comes_as_its_hash_is_refused_for_what_it_is_not_known_for() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let whole = server_below(&intermediate(&root)).as_server();
    assert_judged_whole(&verifier, &store, &whole);
    let short = abbreviated(&whole);
    for other in [
        with(short.clone(), |it| it.server_name = Some("192.0.2.1".into())),
        with(short.clone(), |it| it.peer = Role::Client),
        with(short.clone(), |it| it.known = Some([0; 32])),
        with(short.clone(), |it| it.certificate_type = CertificateType::RAW_PUBLIC_KEY),
    ] {
        assert_refused(&verifier, &store, &other, AlertDescription::BAD_CERTIFICATE);
    }
    for (unix, alert) in [
        (None, AlertDescription::INTERNAL_ERROR),
        (Some(0), AlertDescription::CERTIFICATE_EXPIRED),
        (Some(NOT_AFTER), AlertDescription::CERTIFICATE_EXPIRED),
    ] {
        assert_refused(&verifier, &store, &with(short.clone(), |it| it.unix = unix), alert);
    }
    let elsewhere = trusting(&crate::pki::root("root"), &store);
    assert_refused(&elsewhere, &store, &short, AlertDescription::BAD_CERTIFICATE);
    assert_known(&verifier, &store, &short);
    // The inner verifier remembers nothing.
    let alert = AlertDescription::BAD_CERTIFICATE;
    crate::pki::refused(&crate::pki::trusting(&root), &short, alert);
}

/// Its key is known as long as its entry exists.
#[test]
fn the_proof_of_a_chain_that_comes_as_its_hash_is_right_or_wrong_after_its_end() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let client = Peer::new(&client_params(&["a.example"]), &root).as_client();
    assert!(verifier.is_proof_right(&client) && !verifier.is_proof_right(&abbreviated(&client)));
    assert_judged_whole(&verifier, &store, &client);
    let late = with(abbreviated(&client), |it| it.unix = Some(NOT_AFTER + 1));
    assert_refused(&verifier, &store, &late, AlertDescription::CERTIFICATE_EXPIRED);
    assert!(verifier.is_proof_right(&late));
    let wrong = with(late, |it| signature_of(it)[8] ^= 1);
    assert!(!verifier.is_proof_right(&wrong));
}

#[test]
fn a_chain_that_comes_as_its_hash_is_refused_after_its_revocation() {
    let (root, store) = (root("root"), store());
    let whole = Peer::new(&server_params(), &root).as_server();
    let checking = |serials: &[u64]| {
        let lists = [crl(&root, serials)];
        let verifier = crate::pki::trusting(&root).with_crls(&lists, UnknownStatus::Reject);
        KnownChains::new(verifier.unwrap(), &store)
    };
    let earlier = checking(&[]);
    assert_judged_whole(&earlier, &store, &whole);
    assert!(earlier.pin(&asked(&whole)).is_some());
    let later = checking(&[7]);
    assert!(later.pin(&asked(&whole)).is_none());
    assert_refused(&later, &store, &abbreviated(&whole), AlertDescription::BAD_CERTIFICATE);
    assert_refused(&later, &store, &whole, AlertDescription::CERTIFICATE_REVOKED);
}

#[test]
fn a_pinned_chain_returns_the_length_of_its_certificate() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let whole = server_below(&intermediate(&root)).as_server();
    assert!(verifier.pin(&asked(&whole)).is_none());
    assert_judged_whole(&verifier, &store, &whole);
    let pinned = verifier.pin(&asked(&whole)).unwrap();
    assert_eq!(pinned.certificates, 2);
    // RFC 8446 §4.4.2: context, list, and for each certificate its length and its extensions' length.
    let bytes: usize = whole.chain.iter().map(Vec::len).sum();
    assert_eq!(pinned.body_len(0), 1 + 3 + 2 * (3 + 2) + bytes);
    assert_eq!(pinned.body_len(70), pinned.body_len(0) + 70);
    assert_eq!(pinned.expires_at, 1_906_502_400);
    let no_dns_name = "n".repeat(1000);
    for other in [
        AskedChain { unix: None, ..asked(&whole) },
        AskedChain { unix: Some(0), ..asked(&whole) },
        AskedChain { unix: Some(NOT_AFTER), ..asked(&whole) },
        AskedChain { server_name: None, ..asked(&whole) },
        AskedChain { server_name: Some("192.0.2.1"), ..asked(&whole) },
        AskedChain { server_name: Some(&no_dns_name), ..asked(&whole) },
        AskedChain { peer: Role::Client, ..asked(&whole) },
    ] {
        assert!(verifier.pin(&other).is_none(), "{other:?}");
    }
}

#[test]
fn a_pinned_chain_outlives_its_eviction_until_it_is_dropped() {
    let root = root("root");
    let store = store_of(StoreBounds { entries: 1, bytes: usize::MAX });
    let verifier = trusting(&root, &store);
    let [first, second] = [(); 2].map(|()| Peer::new(&server_params(), &root).as_server());
    let short = abbreviated(&first);
    assert_judged_whole(&verifier, &store, &first);
    let pins = [(); 2].map(|()| verifier.pin(&asked(&first)).unwrap());
    assert_judged_whole(&verifier, &store, &second);
    assert_eq!((store.counts().entries, store.counts().held), (1, 1));
    let [one, other] = pins;
    assert_known(&verifier, &store, &short);
    drop(one);
    assert_known(&verifier, &store, &short);
    // A held chain counts as known: it can be pinned again, and is recognised when sent in full.
    let again = verifier.pin(&asked(&first)).unwrap();
    assert_known(&verifier, &store, &first);
    drop((other, again));
    assert_eq!((store.counts().entries, store.counts().held), (1, 0));
    assert_refused(&verifier, &store, &short, AlertDescription::BAD_CERTIFICATE);
    assert_known(&verifier, &store, &second);
}

#[test]
fn a_pinned_chain_that_expires_between_offer_and_use_is_refused() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let whole = Peer::new(&server_params(), &root).as_server();
    assert_judged_whole(&verifier, &store, &whole);
    let _pinned = verifier.pin(&asked(&whole)).unwrap();
    let at = |unix| with(abbreviated(&whole), |it| it.unix = Some(unix));
    assert_known(&verifier, &store, &at(NOW));
    let late = at(NOT_AFTER + 1);
    assert_refused(&verifier, &store, &late, AlertDescription::CERTIFICATE_EXPIRED);
}

/// More parallel connections than the store has room for: what each was promised stays, and nothing else.
#[test]
fn pinned_entries_stay_as_long_as_the_threads_that_pinned_them() {
    let bounds = StoreBounds { entries: 3, ..StoreBounds::default() };
    let (root, store) = (root("root"), store_of(bounds));
    let peers: Vec<_> = (0..8).map(|_| Peer::new(&server_params(), &root).as_server()).collect();
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (peers, root, store) = (&peers, &root, &store);
            scope.spawn(move || {
                let verifier = trusting(root, store);
                let mut pinned = Vec::new();
                for at in 0..60 {
                    let question = &peers[(first * 3 + at * 5) % peers.len()];
                    assert!(judge(&verifier, question).is_ok());
                    let Some(pin) = verifier.pin(&asked(question)) else { continue };
                    pinned.push((pin, question));
                    if pinned.len() == 5 {
                        // The oldest two end; one of them is never asked about.
                        pinned.remove(0);
                        let (pin, question) = pinned.remove(0);
                        assert!(judge(&verifier, &abbreviated(question)).is_ok());
                        drop(pin);
                    }
                    assert!(store.counts().entries <= 3);
                }
            });
        }
    });
    let counts = store.counts();
    assert_eq!((counts.entries, counts.held), (3, 0));
}
