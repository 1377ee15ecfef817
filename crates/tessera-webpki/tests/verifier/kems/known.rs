//! Known chains to keys of KEMs.

use tessera::Role;
use tessera::auth::{PeerVerifier, Proof, VerifyPeer, chain_hash};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_webpki::{ChainStore, KnownChains, StoreBounds};

use super::{ALL, KemPeer, asked, assert_accepted, judge, trusting};
use crate::pki::{Ca, NOT_AFTER, client_params, refused, root, server_params, with};

fn remembering(root: &Ca) -> (KnownChains, ChainStore) {
    let store = ChainStore::new(&tessera_aws_lc::provider(), StoreBounds::default()).unwrap();
    (KnownChains::new(trusting(root), &store), store)
}

/// Returns the question with the hash in place of the chain.
fn abbreviated(question: &VerifyPeer) -> VerifyPeer {
    with(question.clone(), |it| {
        it.known = chain_hash(tessera_aws_lc::provider().sha256().unwrap(), &it.chain);
        it.chain.clear();
    })
}

#[test]
fn a_known_chain_gives_the_key_of_its_kem_back() {
    let root = root("root");
    for scheme in ALL {
        let (verifier, store) = remembering(&root);
        let server = KemPeer::new(&server_params(), scheme, &root);
        let client = KemPeer::new(&client_params(&["a.example"]), scheme, &root);
        for (peer, question) in [(&server, server.as_server()), (&client, client.as_client())] {
            for _ in 0..2 {
                assert_accepted(&verifier, peer, &question);
            }
            assert_accepted(&verifier, peer, &abbreviated(&question));
            let plain = judge(&trusting(&root), &question).unwrap();
            assert_eq!(judge(&verifier, &abbreviated(&question)).unwrap(), plain);
        }
        assert_eq!(store.counts().entries, 2);
    }
}

/// Otherwise an attacker could make an end encapsulate to a key that isn't accepted for the name.
#[test]
fn a_chain_that_comes_as_its_hash_names_its_kem_for_what_it_is_known_for_alone() {
    let root = root("root");
    let (verifier, store) = remembering(&root);
    let server = KemPeer::new(&server_params(), SignatureScheme::KEM_MLKEM768, &root);
    let short = abbreviated(&server.as_server());
    assert_eq!(verifier.kem_scheme(&asked(&short)), None);
    assert_accepted(&verifier, &server, &server.as_server());
    let hits = store.counts().hits;
    assert_eq!(verifier.kem_scheme(&asked(&short)), Some(server.scheme()));
    for other in [
        with(short.clone(), |it| it.server_name = Some("192.0.2.1".into())),
        with(short.clone(), |it| it.server_name = None),
        with(short.clone(), |it| it.peer = Role::Client),
        with(short.clone(), |it| it.known = Some([0; 32])),
        with(short.clone(), |it| it.unix = None),
    ] {
        assert_eq!(verifier.kem_scheme(&asked(&other)), None, "{other:?}");
    }
    assert_eq!(store.counts().hits, hits, "no question yet");
    // The inner verifier remembers nothing.
    assert_eq!(trusting(&root).kem_scheme(&asked(&short)), None);
}

#[test]
fn a_known_chain_to_a_key_of_a_kem_is_refused_for_what_speaks_against_it() {
    let root = root("root");
    let (verifier, _) = remembering(&root);
    let server = KemPeer::new(&server_params(), SignatureScheme::KEM_MLKEM768, &root);
    assert_accepted(&verifier, &server, &server.as_server());
    for question in [server.as_server(), abbreviated(&server.as_server())] {
        let late = with(question.clone(), |it| it.unix = Some(NOT_AFTER + 1));
        refused(&verifier, &late, AlertDescription::CERTIFICATE_EXPIRED);
        assert!(!verifier.is_proof_right(&late));
        let other = with(question, |it| {
            it.proof = Proof::Kem { scheme: SignatureScheme::KEM_MLKEM512 };
        });
        refused(&verifier, &other, AlertDescription::UNSUPPORTED_CERTIFICATE);
    }
    // It accepts other peers, and so has another memory of them.
    let store = ChainStore::new(&tessera_aws_lc::provider(), StoreBounds::default()).unwrap();
    let both =
        [trusting(&root), crate::pki::trusting(&root)].map(|it| KnownChains::new(it, &store));
    assert_accepted(&both[0], &server, &server.as_server());
    let short = abbreviated(&server.as_server());
    assert_eq!(both[1].kem_scheme(&asked(&short)), None);
    refused(&both[1], &short, AlertDescription::BAD_CERTIFICATE);
}
